package wire

import (
	"github.com/carillon-scheduler/carillon/shared/job"
)

type (
	collectionResource struct {
		ID         string               `json:"id"`
		Type       string               `json:"type"`
		Name       string               `json:"name"`
		Location   string               `json:"location"`
		Tags       map[string]string    `json:"tags,omitempty"`
		Properties collectionProperties `json:"properties"`
	}
	collectionProperties struct {
		SKU   sku                 `json:"sku"`
		State job.CollectionState `json:"state"`
		Quota *quota              `json:"quota,omitempty"` // not given: the plan's limits hold, unsaid
	}
	sku struct {
		Name job.SKU `json:"name"`
	}
	quota struct {
		MaxJobCount   int            `json:"maxJobCount,omitempty"`
		MaxRecurrence *maxRecurrence `json:"maxRecurrence,omitempty"`
	}
	maxRecurrence struct {
		Frequency string `json:"frequency,omitempty"`
		Interval  int    `json:"interval"`
	}
)

// ReadCollection reads the body of a PUT: a whole resource. It sets Location,
// Tags, SKU (Standard unless given), State (Enabled unless given) and Quota.
// Errors are as in [ReadJob].
func ReadCollection(body []byte) (job.Collection, error) {
	o, err := parse(body)
	if err != nil {
		return job.Collection{}, err
	}
	return readCollection(o, job.Collection{})
}

// PatchCollection returns was with the body of a PATCH merged into it, as in
// [PatchJob]. Only what ReadCollection reads can change.
func PatchCollection(was job.Collection, body []byte) (job.Collection, error) {
	patch, err := parse(body)
	if err != nil {
		return job.Collection{}, err
	}
	merged, err := parse(WriteCollection(&was))
	if err != nil {
		return job.Collection{}, err
	}
	merge(merged, patch)
	return readCollection(merged, was)
}

// readCollection reads a resource on top of c.
func readCollection(o object, c job.Collection) (job.Collection, error) {
	n := node{doc: new(document), v: o}
	c.Location = location(n.get("location").text())
	c.Tags = n.get("tags").texts()

	properties := n.get("properties")
	properties.isObject()
	properties.path = "" // fields are named from here down
	plan := properties.get("sku")
	plan.isObject()
	c.SKU = choice(plan.get("name"), job.SKUs()...)
	if c.SKU == "" {
		c.SKU = job.Standard
	}
	c.State = choice(properties.get("state"), job.CollectionEnabled, job.CollectionDisabled, job.CollectionSuspended)
	if c.State == "" {
		c.State = job.CollectionEnabled
	}
	c.Quota = properties.get("quota").quota()
	if n.doc.err != nil {
		return job.Collection{}, n.doc.err
	}
	return c, nil
}

func (n node) quota() *job.Quota {
	if !n.isObject() {
		return nil
	}
	q := &job.Quota{MaxJobCount: n.get("maxJobCount").positive()}
	if fastest := n.get("maxRecurrence"); fastest.isObject() {
		q.MaxRecurrence = &job.MaxRecurrence{Frequency: fastest.get("frequency").frequency(), Interval: 1}
		if interval := fastest.get("interval"); interval.given() {
			q.MaxRecurrence.Interval = interval.positive()
		}
	}
	return q
}

// WriteCollection returns the resource of a collection.
func WriteCollection(c *job.Collection) []byte {
	w := collectionResource{
		ID:         c.ID(),
		Type:       job.Provider + "/jobCollections",
		Name:       c.Collection,
		Location:   c.Location,
		Tags:       c.Tags,
		Properties: collectionProperties{SKU: sku{c.SKU}, State: c.State},
	}
	if q := c.Quota; q != nil {
		w.Properties.Quota = &quota{MaxJobCount: q.MaxJobCount}
		if r := q.MaxRecurrence; r != nil {
			w.Properties.Quota.MaxRecurrence = &maxRecurrence{r.Frequency.String(), max(r.Interval, 1)}
		}
	}
	return marshal(w)
}
