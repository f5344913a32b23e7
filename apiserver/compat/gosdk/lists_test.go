package gosdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
)

// Jobs are listed by name: all of them on as many pages as it takes, from $skip
// on, $top on a page, those in one state.
func TestJobLists(t *testing.T) {
	t.Parallel()
	c := connect(t)
	c.putCollection(collection, scheduler.JobCollectionDefinition{
		Location:   new("West Europe"),
		Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.P20Premium}},
	})
	names := func(list []scheduler.JobDefinition) (names []string) {
		for _, j := range list {
			names = append(names, strings.TrimPrefix(*j.Name, collection+"/"))
		}
		return names
	}
	empty, err := c.jobs.List(t.Context(), group, collection, nil, nil, "")
	checked(t, empty, err)
	if empty.NotDone() || empty.Response().NextLink != nil {
		t.Errorf("an empty collection lists %v", names(empty.Values()))
	}

	var every, disabled, enabled []string
	for i := range 103 {
		name := fmt.Sprintf("j%03d", i)
		p := scheduler.JobProperties{StartTime: at(later), Action: call("http://127.0.0.1/")}
		every = append(every, name)
		if i%20 == 7 {
			p.State = scheduler.JobStateDisabled
			disabled = append(disabled, name)
		} else {
			enabled = append(enabled, name)
		}
		c.put(name, p)
	}
	for _, row := range []struct {
		name      string
		top, skip *int32
		filter    string
		want      []string
		pages     []int
	}{
		{"a page has 100", nil, nil, "", every, []int{100, 3}},
		{"top", new(int32(40)), nil, "", every, []int{40, 40, 23}},
		{"skip", nil, new(int32(99)), "", every[99:], []int{4}},
		{"top and skip", new(int32(2)), new(int32(98)), "", every[98:], []int{2, 2, 1}},
		{"skip all", nil, new(int32(103)), "", nil, nil},
		{"filter", nil, nil, "state eq Disabled", disabled, []int{5}},
		{"filter, quoted and in another case", nil, nil, "State EQ 'disabled'", disabled, []int{5}},
		{"filter and top", new(int32(2)), nil, "state eq Disabled", disabled, []int{2, 2, 1}},
		{"filter, top and skip", new(int32(3)), new(int32(1)), "state eq Disabled", disabled[1:], []int{3, 1}},
		{"filter the others", nil, nil, "state eq Enabled", enabled, []int{98}},
		{"filter for none", nil, nil, "state eq Faulted", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			it, err := c.jobs.ListComplete(t.Context(), group, collection, row.top, row.skip, row.filter)
			checked(t, it, err)
			same(t, names(all(t, &it)), row.want)

			page, err := c.jobs.List(t.Context(), group, collection, row.top, row.skip, row.filter)
			checked(t, page, err)
			var sizes []int
			for page.NotDone() {
				sizes = append(sizes, len(page.Values()))
				if err := page.NextWithContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			same(t, sizes, row.pages)
		})
	}

	// A list has whole resources.
	page, err := c.jobs.List(t.Context(), group, collection, new(int32(1)), nil, "")
	checked(t, page, err)
	same(t, page.Values()[0], c.get("j000"))
}

// History is listed the newest first, in the same ways. A filter for Completed
// finds the rows that have no status.
func TestHistoryLists(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	p := scheduler.JobProperties{StartTime: at(later), Action: call(target.URL)}
	p.Action.RetryPolicy = &scheduler.RetryPolicy{RetryType: scheduler.None}
	c.put("j", p)
	const runs = 5
	for i := range runs {
		if i == 3 { // repeatCount counts from the last update
			p.Action.Request.URI = new(target.URL + "/fail")
			c.patch("j", p)
		}
		c.run("j")
		c.settled("j", int32(i+1))
	}
	for _, row := range []struct {
		name      string
		top, skip *int32
		filter    string
		want      []int32 // repeatCounts
		pages     []int
	}{
		{"all", nil, nil, "", []int32{2, 1, 3, 2, 1}, []int{5}},
		{"top", new(int32(2)), nil, "", []int32{2, 1, 3, 2, 1}, []int{2, 2, 1}},
		{"skip", nil, new(int32(3)), "", []int32{2, 1}, []int{2}},
		{"top and skip", new(int32(1)), new(int32(3)), "", []int32{2, 1}, []int{1, 1}},
		{"failed", nil, nil, "status eq 'Failed'", []int32{2, 1}, []int{2}},
		{"completed", nil, nil, "status eq Completed", []int32{3, 2, 1}, []int{3}},
		{"completed, top", new(int32(2)), nil, "Status eq 'completed'", []int32{3, 2, 1}, []int{2, 1}},
		{"postponed", nil, nil, "status eq Postponed", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			it, err := c.jobs.ListJobHistoryComplete(t.Context(), group, collection, "j", row.top, row.skip, row.filter)
			checked(t, it, err)
			var got []int32
			for _, h := range all(t, &it) {
				got = append(got, *h.Properties.RepeatCount)
			}
			same(t, got, row.want)

			page, err := c.jobs.ListJobHistory(t.Context(), group, collection, "j", row.top, row.skip, row.filter)
			checked(t, page, err)
			var sizes []int
			for page.NotDone() {
				sizes = append(sizes, len(page.Values()))
				if err := page.NextWithContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			same(t, sizes, row.pages)
		})
	}
}
