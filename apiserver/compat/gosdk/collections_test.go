package gosdk

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/azure"
)

// A collection is created, read, replaced, patched, deleted, and each answer is
// the whole resource.
func TestCollection(t *testing.T) {
	t.Parallel()
	c := connect(t)
	want := scheduler.JobCollectionDefinition{
		ID: c.id("Bells"), Type: new("Microsoft.Scheduler/jobCollections"), Name: new("Bells"),
		Location: new("West Europe"), // sent as westeurope
		Tags:     map[string]*string{"department": new("marketing"), "Tower": new("north")},
		Properties: &scheduler.JobCollectionProperties{
			Sku:   &scheduler.Sku{Name: scheduler.P10Premium},
			State: scheduler.Enabled,
			Quota: &scheduler.JobCollectionQuota{
				MaxJobCount:   new(int32(20)),
				MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: "hour", Interval: new(int32(2))},
			},
		},
	}
	created := c.putCollection("Bells", scheduler.JobCollectionDefinition{
		Name: new("ignored"), Location: new("westeurope"), Tags: want.Tags,
		Properties: &scheduler.JobCollectionProperties{
			Sku: &scheduler.Sku{Name: scheduler.P10Premium},
			Quota: &scheduler.JobCollectionQuota{
				MaxJobCount:   new(int32(20)),
				MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: scheduler.Hour, Interval: new(int32(2))},
			},
		},
	})
	wantStatus(t, created.Response, http.StatusCreated)
	same(t, created, want)
	read := c.getCollection("Bells")
	same(t, read, want)
	same(t, c.getCollection("bELLS"), want) // names match in any case and keep theirs

	// What was read goes in again and changes nothing. The status is 201, always.
	again := c.putCollection("Bells", read)
	wantStatus(t, again.Response, http.StatusCreated)
	same(t, again, want)

	// PATCH merges.
	patched, err := c.collections.Patch(t.Context(), group, "Bells", scheduler.JobCollectionDefinition{
		Tags: map[string]*string{"department": nil, "city": new("Ghent")},
		Properties: &scheduler.JobCollectionProperties{
			Quota: &scheduler.JobCollectionQuota{MaxJobCount: new(int32(30))},
		},
	})
	checked(t, patched, err)
	wantStatus(t, patched.Response, http.StatusOK)
	want.Tags = map[string]*string{"Tower": new("north"), "city": new("Ghent")}
	want.Properties.Quota.MaxJobCount = new(int32(30))
	same(t, patched, want)
	same(t, c.getCollection("Bells"), want)

	// PUT replaces. What is not given is not answered, tags and quota; but for sku and state, which get their defaults.
	replaced := c.putCollection("Bells", scheduler.JobCollectionDefinition{Location: new("Moon Base 1")})
	same(t, replaced, scheduler.JobCollectionDefinition{
		ID: want.ID, Type: want.Type, Name: want.Name, Location: new("Moon Base 1"),
		Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: scheduler.Standard}, State: scheduler.Enabled},
	})

	deleteCollection(c, "Bells")
	_, err = c.collections.Get(t.Context(), group, "Bells")
	wantError(t, err, http.StatusNotFound, "ResourceNotFound",
		"The Resource 'Microsoft.Scheduler/jobcollections/Bells' under resource group 'rg' was not found.")
}

// deleteCollection deletes a collection as users of the SDK do, who wait for
// what they take for a long operation.
func deleteCollection(c *azureClient, name string) {
	c.t.Helper()
	future, err := c.collections.Delete(c.t.Context(), group, name)
	checked(c.t, future, err)
	finished(c, future.FutureAPI, future.Result)
}

// finished checks that an operation was over with its first answer: 200, empty.
func finished(c *azureClient, future azure.FutureAPI, result func(scheduler.JobCollectionsClient) (autorest.Response, error)) {
	c.t.Helper()
	if future.Status() != "Succeeded" {
		c.t.Errorf("status %s after the first answer", future.Status())
	}
	if err := future.WaitForCompletionRef(c.t.Context(), c.collections.Client); err != nil {
		c.t.Fatal(err)
	}
	answer, err := result(c.collections)
	checked(c.t, answer, err)
	wantStatus(c.t, answer, http.StatusOK)
	if answer.ContentLength != 0 {
		c.t.Errorf("%d bytes of answer", answer.ContentLength)
	}
}

// Disable and Enable answer at once, and the next Get shows the state.
func TestCollectionStates(t *testing.T) {
	t.Parallel()
	c := connected(t)
	state := func(want scheduler.JobCollectionState) {
		t.Helper()
		if got := c.getCollection(collection).Properties.State; got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	}
	for range 2 { // what is disabled may be disabled again
		disabling, err := c.collections.Disable(t.Context(), group, collection)
		checked(t, disabling, err)
		finished(c, disabling.FutureAPI, disabling.Result)
		state(scheduler.Disabled)
	}
	enabling, err := c.collections.Enable(t.Context(), group, collection)
	checked(t, enabling, err)
	finished(c, enabling.FutureAPI, enabling.Result)
	state(scheduler.Enabled)

	suspended := scheduler.JobCollectionDefinition{
		Location: new("West Europe"), Properties: &scheduler.JobCollectionProperties{State: scheduler.Suspended},
	}
	c.putCollection(collection, suspended)
	state(scheduler.Suspended)
	for _, want := range []scheduler.JobCollectionState{scheduler.Disabled, scheduler.Enabled} {
		_, err := c.collections.Patch(t.Context(), group, collection, scheduler.JobCollectionDefinition{
			Properties: &scheduler.JobCollectionProperties{State: want},
		})
		checked(t, want, err)
		state(want)
	}
}

// Every sku is answered as it was sent, with its quota or with none.
func TestCollectionPlans(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for _, sku := range scheduler.PossibleSkuDefinitionValues() {
		for i, quota := range []*scheduler.JobCollectionQuota{
			nil,
			{MaxJobCount: new(int32(5))},
			{MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: "day", Interval: new(int32(1))}},
		} {
			put := scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: sku}, State: scheduler.Enabled, Quota: quota}
			name := string(sku)
			if sku != scheduler.Free { // of which a subscription has one
				name += fmt.Sprint(i)
			}
			got := c.putCollection(name, scheduler.JobCollectionDefinition{Location: new("West Europe"), Properties: &put})
			same(t, got.Properties, &put)
		}
	}
}

// Both lists are sorted by group, then name, and go on where a page ends: a page
// holds 100.
func TestCollectionLists(t *testing.T) {
	t.Parallel()
	c := connect(t)
	var inGroup []string
	add := func(group, name string) {
		_, err := c.collections.CreateOrUpdate(t.Context(), group, name, scheduler.JobCollectionDefinition{Location: new("West Europe")})
		checked(t, name, err)
	}
	page, err := c.collections.ListBySubscription(t.Context())
	checked(t, page, err)
	if page.NotDone() || page.Response().NextLink != nil {
		t.Errorf("an empty subscription lists %v", page.Values())
	}
	add("zoo", "a")
	for i := range 101 {
		inGroup = append(inGroup, fmt.Sprintf("jc%03d", i))
		add(group, inGroup[i])
	}
	add("attic", "z")

	names := func(list []scheduler.JobCollectionDefinition) (names []string) {
		for _, d := range list {
			names = append(names, *d.Name)
		}
		return names
	}
	byGroup, err := c.collections.ListByResourceGroupComplete(t.Context(), group)
	checked(t, byGroup, err)
	same(t, names(all(t, &byGroup)), inGroup)
	bySubscription, err := c.collections.ListBySubscriptionComplete(t.Context())
	checked(t, bySubscription, err)
	list := all(t, &bySubscription)
	same(t, names(list), append(append([]string{"z"}, inGroup...), "a"))
	same(t, list[1], c.getCollection(inGroup[0])) // a list has whole resources

	page, err = c.collections.ListByResourceGroup(t.Context(), group)
	checked(t, page, err)
	var sizes []int
	for page.NotDone() {
		sizes = append(sizes, len(page.Values()))
		if err := page.NextWithContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	same(t, sizes, []int{100, 1})
}
