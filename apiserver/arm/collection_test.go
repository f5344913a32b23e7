package arm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func (b *bench) storedCollection() *job.Collection {
	b.t.Helper()
	c, err := b.store.Collection(b.t.Context(), ref())
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func TestANewCollection(t *testing.T) {
	b := newBench(t)
	b.want(b.do("PUT", jc, `{"location":"westus"}`), 201)
	c := b.storedCollection()
	now := b.store.now
	want := &job.Collection{
		UID: c.UID, Revision: 1, CollectionRef: ref(), Location: "West US", SKU: job.Standard, State: job.CollectionEnabled, CreatedAt: now, ActiveFrom: now,
	}
	if diff := cmp.Diff(want, c); diff != "" || len(c.UID) != 32 {
		t.Error(c.UID, diff)
	}
	if diff := cmp.Diff(job.Entry{Shard: ref().Shard(shards), UID: c.UID, Revision: 1, Collection: c}, b.last()); diff != "" {
		t.Error(diff)
	}
}

func TestPUTReplacesACollectionAndPATCHMerges(t *testing.T) {
	b := newBench(t)
	first := `{"location":"westus","tags":{"a":"1"},"properties":{"sku":{"name":"p10premium"},"quota":{"maxJobCount":7}}}`
	b.want(b.do("PUT", jc, first), 201)
	was := b.storedCollection()
	b.pass(time.Hour)
	b.want(b.do("PATCH", jc, `{"tags":{"b":"2"},"properties":{"quota":{"maxRecurrence":{"frequency":"Hour","interval":1}}}}`), 200)
	c := b.storedCollection()
	if c.Revision != 2 || c.UID != was.UID || len(c.Tags) != 2 || c.Quota.MaxJobCount != 7 || c.Quota.MaxRecurrence == nil || c.SKU != job.P10Premium || c.ActiveFrom != was.ActiveFrom {
		t.Errorf("merged %+v", c)
	}
	b.want(b.do("PUT", jc, `{"location":"eastus"}`), 201)
	c = b.storedCollection()
	if c.Revision != 3 || c.UID != was.UID || c.CreatedAt != was.CreatedAt || len(c.Tags) != 0 || c.Quota != nil || c.SKU != job.Standard || c.Location != "East US" {
		t.Errorf("replaced %+v", c)
	}
}

func TestEnablingACollectionMakesNothingUp(t *testing.T) {
	for name, enable := range map[string]func(b *bench) reply{
		"POST":  func(b *bench) reply { return b.do("POST", jc+"/enable", "") },
		"PATCH": func(b *bench) reply { return b.do("PATCH", jc, `{"properties":{"state":"ENABLED"}}`) },
		"PUT":   func(b *bench) reply { r := b.do("PUT", jc, collectionBody); r.status -= 1; return r },
	} {
		b := newBench(t).with(collectionBody, hourly)
		was := b.storedCollection()
		b.want(b.do("POST", jc+"/disable", ""), 200)
		if c := b.storedCollection(); c.State != job.CollectionDisabled || c.ActiveFrom != was.ActiveFrom {
			t.Errorf("disabled %+v", c)
		}
		now := b.pass(time.Hour)
		b.want(enable(b), 200)
		if c := b.storedCollection(); c.State != job.CollectionEnabled || c.ActiveFrom != now || c.Revision != 3 {
			t.Errorf("%s: enabled %+v", name, c)
		}
	}
}

func TestADowngradeThatTheJobsDoNotFitIsAConflict(t *testing.T) {
	put := func(b *bench, properties string) reply {
		return b.do("PUT", jc, `{"location":"westus","properties":{`+properties+`}}`)
	}
	t.Run("count", func(t *testing.T) {
		b := newBench(t)
		b.jobs(251) // more than one page of the check
		b.refused(put(b, `"sku":{"name":"P20Premium"},"quota":{"maxJobCount":250}`), 409, CodeConflict, "250", "'j250'")
		b.want(put(b, `"sku":{"name":"P20Premium"},"quota":{"maxJobCount":251}`), 201)
	})
	t.Run("maxRecurrence", func(t *testing.T) {
		b := newBench(t)
		b.jobs(3)
		b.want(b.do("PUT", jc+"/jobs/j001", strings.Replace(hourly, "hour", "minute", 1)), 200)
		quota := `"sku":{"name":"P20Premium"},"quota":{"maxRecurrence":{"frequency":"hour","interval":1}}`
		b.refused(put(b, quota), 409, CodeConflict, "'j001'", "1 hour")
		b.refused(b.do("PATCH", jc, `{"properties":{`+quota+`}}`), 409, CodeConflict, "'j001'")
		if c := b.storedCollection(); c.Revision != 1 {
			t.Errorf("written: %+v", c)
		}
		// What never runs again fits anything.
		c := b.storedCollection()
		j := b.store.jobs[c.UID]["j001"]
		j.Status.State = job.Completed
		b.store.jobs[c.UID]["j001"] = j
		b.want(put(b, quota), 201)
	})
	t.Run("first of the second page", func(t *testing.T) {
		b := newBench(t)
		b.jobs(fitsPage + 1)
		last := fmt.Sprintf("j%03d", fitsPage)
		b.want(b.do("PUT", jc+"/jobs/"+last, strings.Replace(hourly, "hour", "minute", 1)), 200)
		b.refused(put(b, `"sku":{"name":"P20Premium"},"quota":{"maxRecurrence":{"frequency":"hour","interval":1}}`), 409, CodeConflict, last)
	})
	t.Run("Free's HTTP authentication", func(t *testing.T) {
		b := newBench(t).with(collectionBody, `{"properties":{"action":{"type":"Https","request":{"uri":"https://h/","method":"GET","authentication":{"type":"basic","username":"u","password":"p"}}}}}`)
		b.refused(put(b, `"sku":{"name":"Free"}`), 409, CodeConflict, "'j'", "authentication")
		// Even if the numbers stay.
		b.want(put(b, `"sku":{"name":"Standard"},"quota":{"maxJobCount":5,"maxRecurrence":{"frequency":"hour","interval":1}}`), 201)
		b.refused(put(b, `"sku":{"name":"Free"}`), 409, CodeConflict, "'j'", "authentication")
	})
}

func TestAJobWrittenWhileADowngradeIsCheckedIsCheckedToo(t *testing.T) {
	b := newBench(t)
	b.jobs(2)
	b.store.between = func() { b.want(b.do("PUT", jc+"/jobs/k", strings.Replace(hourly, "hour", "minute", 1)), 201) }
	r := b.do("PATCH", jc, `{"properties":{"quota":{"maxRecurrence":{"frequency":"hour","interval":1}}}}`)
	b.refused(r, 409, CodeConflict, "'k'")
	// And a job that comes with the new quota is held to it.
	b.want(b.do("DELETE", jc+"/jobs/k", ""), 200)
	b.store.between = func() {
		b.want(b.do("PATCH", jc, `{"properties":{"quota":{"maxRecurrence":{"frequency":"hour","interval":1}}}}`), 200)
	}
	b.refused(b.do("PUT", jc+"/jobs/k", strings.Replace(hourly, "hour", "minute", 1)), 409, CodeConflict, "1 hour")
}

func TestCeilingsOfTheOperator(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Ceilings = job.Ceilings{MaxJobs: 100, Fastest: time.Second} })
	b.want(b.do("PUT", jc, `{"location":"here","properties":{"quota":{"maxJobCount":60,"maxRecurrence":{"frequency":"second","interval":5}}}}`), 201)
	for i := range 60 {
		b.want(b.do("PUT", fmt.Sprintf("%s/jobs/%d", jc, i), strings.Replace(hourly, `"hour"`, `"second","interval":5`, 1)), 201)
	}
	b.refused(b.do("PUT", jc+"/jobs/60", hourly), 409, CodeConflict)
	b.refused(b.do("PUT", jc+"/jobs/1", strings.Replace(hourly, "hour", "second", 1)), 409, CodeConflict)
	b.refused(b.do("PATCH", jc, `{"properties":{"quota":{"maxJobCount":101}}}`), 400, CodeBadRequest, "quota.maxJobCount")
}
