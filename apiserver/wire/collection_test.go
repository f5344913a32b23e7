package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

func collectionRef() job.CollectionRef {
	return job.CollectionRef{Subscription: "S", ResourceGroup: "RG", Collection: "jc"}
}

// The collection of AZURE §2, all of it.
func TestWriteCollection(t *testing.T) {
	want := golden(t, "collection.json")
	c, err := ReadCollection(want)
	if err != nil {
		t.Fatal(err)
	}
	full := job.Collection{
		Location: "South Central US",
		Tags:     map[string]string{"department": "marketing"},
		SKU:      job.P10Premium,
		State:    job.CollectionEnabled,
		Quota:    &job.Quota{MaxJobCount: 50, MaxRecurrence: &job.MaxRecurrence{Frequency: recur.Day, Interval: 2}},
	}
	if diff := cmp.Diff(full, c); diff != "" {
		t.Error(diff)
	}
	c.CollectionRef = collectionRef()
	if diff := cmp.Diff(string(want), string(WriteCollection(&c))); diff != "" {
		t.Error(diff)
	}
}

// AZURE §2, sentence by sentence: what is PUT, and what is answered.
func TestCollectionRules(t *testing.T) {
	const id = `"id":"/subscriptions/S/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/jc","type":"Microsoft.Scheduler/jobCollections","name":"jc",`
	for _, c := range []struct{ rule, put, want string }{
		{
			"state defaults to Enabled, sku to Standard, tags absent when none", `{"location":"westus","tags":{}}`,
			`"location":"West US","properties":{"sku":{"name":"Standard"},"state":"Enabled"}`,
		},
		{
			"PascalCase for collection state, sku.name", `{"LOCATION":"West US","Properties":{"SKU":{"Name":"p20premium"},"STATE":"suspended"}}`,
			`"location":"West US","properties":{"sku":{"name":"P20Premium"},"state":"Suspended"}`,
		},
		{
			"Suspended may be PUT", `{"location":"x","properties":{"state":"Suspended"}}`,
			`"location":"x","properties":{"sku":{"name":"Standard"},"state":"Suspended"}`,
		},
		{
			"Disabled", `{"location":"x","properties":{"sku":{"name":"FREE"},"state":"Disabled"}}`,
			`"location":"x","properties":{"sku":{"name":"Free"},"state":"Disabled"}`,
		},
		{
			"quota in part", `{"location":"x","properties":{"quota":{"maxJobCount":"7"}}}`,
			`"location":"x","properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":7}}`,
		},
		{
			"maxRecurrence's interval absent is 1", `{"location":"x","properties":{"quota":{"maxRecurrence":{"frequency":"Month"}}}}`,
			`"location":"x","properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxRecurrence":{"frequency":"month","interval":1}}}`,
		},
		{
			"tags verbatim", `{"location":"x","tags":{"Ab <c>":"D&e","aB":null}}`,
			`"location":"x","tags":{"Ab <c>":"D&e"},"properties":{"sku":{"name":"Standard"},"state":"Enabled"}`,
		},
		{
			"what is read-only is ignored", `{"id":5,"name":5,"type":5,"location":"x","properties":{"promotionCode":1}}`,
			`"location":"x","properties":{"sku":{"name":"Standard"},"state":"Enabled"}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := ReadCollection([]byte(c.put))
			if err != nil {
				t.Fatal(err)
			}
			got.CollectionRef = collectionRef()
			if diff := cmp.Diff(`{`+id+c.want+`}`, string(WriteCollection(&got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadCollectionRefuses(t *testing.T) {
	for _, c := range []struct{ name, put, field, reason string }{
		{"location", `{"location":5}`, "location", "must be a string, got a number"},
		{"tags", `{"tags":[]}`, "tags", "must be an object"},
		{"tag", `{"tags":{"a":1}}`, "tags.a", "must be a string"},
		{"properties", `{"properties":1}`, "properties", "must be an object"},
		{"sku", `{"properties":{"sku":"Free"}}`, "sku", "must be an object"},
		{"sku.name", `{"properties":{"sku":{"name":"Gold"}}}`, "sku.name", "must be Free, Standard, P10Premium or P20Premium"},
		{"state", `{"properties":{"state":"Deleted"}}`, "state", "must be Enabled, Disabled or Suspended"},
		{"quota", `{"properties":{"quota":5}}`, "quota", "must be an object"},
		{"maxJobCount", `{"properties":{"quota":{"maxJobCount":0}}}`, "quota.maxJobCount", "must be 1 or more"},
		{"maxRecurrence", `{"properties":{"quota":{"maxRecurrence":"day"}}}`, "quota.maxRecurrence", "must be an object"},
		{"frequency", `{"properties":{"quota":{"maxRecurrence":{"frequency":"x"}}}}`, "quota.maxRecurrence.frequency", "must be second"},
		{"interval", `{"properties":{"quota":{"maxRecurrence":{"frequency":"day","interval":-1}}}}`, "quota.maxRecurrence.interval", "must be 1 or more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadCollection([]byte(c.put))
			wantInvalid(t, err, c.field, c.reason)
			_, err = PatchCollection(job.Collection{SKU: job.Free, State: job.CollectionEnabled}, []byte(c.put))
			wantInvalid(t, err, c.field, c.reason)
		})
	}
}

func TestPatchCollection(t *testing.T) {
	was := func() job.Collection {
		return job.Collection{
			UID: "uid", Revision: 3, CollectionRef: collectionRef(), Location: "West US",
			Tags: map[string]string{"Department": "a", "keep": "b"}, SKU: job.P20Premium, State: job.CollectionSuspended,
			Quota:     &job.Quota{MaxJobCount: 5, MaxRecurrence: &job.MaxRecurrence{Frequency: recur.Hour, Interval: 2}},
			CreatedAt: time.Unix(1, 0), Jobs: 7, Writes: 9,
		}
	}
	for _, c := range []struct {
		name, patch string
		change      func(c *job.Collection)
	}{
		{"nothing", `{}`, func(*job.Collection) {}},
		{"state", `{"properties":{"state":"disabled"}}`, func(c *job.Collection) { c.State = job.CollectionDisabled }},
		{"sku keeps the quota", `{"properties":{"sku":{"name":"standard"}}}`, func(c *job.Collection) { c.SKU = job.Standard }},
		{"quota merges", `{"properties":{"quota":{"maxRecurrence":{"interval":3}}}}`, func(c *job.Collection) { c.Quota.MaxRecurrence.Interval = 3 }},
		{"null quota", `{"properties":{"quota":null}}`, func(c *job.Collection) { c.Quota = nil }},
		{"null maxJobCount", `{"properties":{"quota":{"maxJobCount":null}}}`, func(c *job.Collection) { c.Quota.MaxJobCount = 0 }},
		{"tags merge", `{"tags":{"department":"c","keep":null}}`, func(c *job.Collection) { c.Tags = map[string]string{"department": "c"} }},
		{"null tags", `{"tags":null}`, func(c *job.Collection) { c.Tags = nil }},
		{"location", `{"location":"eastasia"}`, func(c *job.Collection) { c.Location = "East Asia" }},
		{"what is read-only is ignored", `{"id":"x","name":"y"}`, func(*job.Collection) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := was()
			c.change(&want)
			got, err := PatchCollection(was(), []byte(c.patch))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// AZURE §2: "location answers the display name (westus → West US)".
func TestLocation(t *testing.T) {
	for in, want := range map[string]string{
		"westus": "West US", "West US": "West US", "WEST us": "West US", "west us 2": "West US 2", "australiacentral2": "Australia Central 2",
		"southcentralus": "South Central US", "uksouth": "UK South", "usdodeast": "US DoD East", " North  Europe ": "North Europe",
		"my rack": "my rack", "Keller 3 ": "Keller 3 ", "": "",
	} {
		if got := location(in); got != want {
			t.Errorf("location(%q) = %q, want %q", in, got, want)
		}
	}
}
