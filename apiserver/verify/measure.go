package verify

import (
	"encoding/json"
	"slices"
	"time"
)

// Lateness is how late things were.
type Lateness struct {
	N             int
	P50, P99, Max time.Duration
}

// slow is from how late on a first attempt is listed.
const slow = 250 * time.Millisecond

// Slow is an occurrence whose first attempt arrived more than 250 ms late. When
// such ones were due and arrived tells how long a cluster was at a standstill.
type Slow struct {
	Job       string    `json:"job"` // collection/job
	At        time.Time `json:"at"`  // nominal time
	ArrivedAt time.Time `json:"arrivedAt"`
}

// measure returns the quantiles of some times.
func measure(list []time.Duration) Lateness {
	if len(list) == 0 {
		return Lateness{}
	}
	list = slices.Sorted(slices.Values(list))
	at := func(percent int) time.Duration { return list[(len(list)*percent+99)/100-1] }
	return Lateness{len(list), at(50), at(99), list[len(list)-1]}
}

// MarshalJSON writes milliseconds.
func (l Lateness) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return json.Marshal(struct {
		N   int     `json:"n"`
		P50 float64 `json:"p50Milliseconds"`
		P99 float64 `json:"p99Milliseconds"`
		Max float64 `json:"maxMilliseconds"`
	}{l.N, ms(l.P50), ms(l.P99), ms(l.Max)})
}
