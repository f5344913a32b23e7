package job

import (
	"time"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// SKU is the plan of a collection, spelled as the wire spells it.
type SKU string

// The plans (Azure documentation: Scheduler plans and billing).
const (
	Free       SKU = "Free"
	Standard   SKU = "Standard"
	P10Premium SKU = "P10Premium"
	P20Premium SKU = "P20Premium"
)

// SKUs lists the plans.
func SKUs() []SKU { return []SKU{Free, Standard, P10Premium, P20Premium} }

// CollectionState says whether a collection's jobs run, spelled as the wire
// spells it.
type CollectionState string

// The states of a collection. A suspended one behaves as a disabled one.
const (
	CollectionEnabled   CollectionState = "Enabled"
	CollectionDisabled  CollectionState = "Disabled"
	CollectionSuspended CollectionState = "Suspended"
)

// Collection is a group of jobs that share a plan, a quota and a switch.
type Collection struct {
	UID      string `json:"uid"` // made at creation: a collection deleted and made again is another
	Revision int64  `json:"rev"` // +1 with each change, from 1
	CollectionRef
	Location string            `json:"location"` // display name: "West US"
	Tags     map[string]string `json:"tags,omitempty"`
	SKU      SKU               `json:"sku"`
	State    CollectionState   `json:"state"`
	Quota    *Quota            `json:"quota,omitempty"` // nil: the plan's

	CreatedAt time.Time `json:"createdAt"`
	// ActiveFrom is when the collection was created or last enabled. Occurrences
	// before it are not made up.
	ActiveFrom time.Time `json:"activeFrom"`

	// Writes counts the writes of the collection's jobs, so that a check of all
	// of them can be held against the moment of a change.
	Writes int64 `json:"-"`
	// Jobs is how many jobs there are.
	Jobs int `json:"-"`
}

// Quota is what a collection's owner set in place of the plan's limits. Its
// zero value sets nothing.
type Quota struct {
	MaxJobCount   int            `json:"maxJobCount,omitempty"` // 0: not set
	MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`
}

// MaxRecurrence is the fastest recurrence that a collection allows.
type MaxRecurrence struct {
	Frequency recur.Frequency `json:"frequency"`
	Interval  int             `json:"interval"`
}

// Limits is what holds for a collection after plan and quota are weighed.
type Limits struct {
	Jobs    int           // most jobs
	Fastest time.Duration // shortest time between two occurrences of a job
}
