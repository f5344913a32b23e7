package verify

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// canary is a job that the checker makes, with what it does to it in the course of
// the run.
type canary struct {
	form, job string
	steps     []step
}

// step is something done to a job at a time. A nil def changes no definition.
type step struct {
	at   time.Time
	kind changeKind
	def  *definition
}

// generator makes canaries. The same numbers make the same ones.
type generator struct {
	rng    *rand.Rand
	began  time.Time     // of the run, whole milliseconds
	length time.Duration // of the run
	// beat is the fastest that the API lets a job recur, minRetry the shortest
	// retry interval.
	beat, minRetry time.Duration
}

// mostRows is how many occurrences of a job are fine: history keeps 1000.
const mostRows = 300

// canaries makes n of them, of every form in turn, beginning with any.
func (g *generator) canaries(n int, only func(form string) bool) []*canary {
	var list []form
	for _, f := range forms() {
		if only == nil || only(f.name) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return nil
	}
	g.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	made := make([]*canary, n)
	for i := range made {
		f := list[i%len(list)]
		made[i] = &canary{form: f.name, job: fmt.Sprintf("c%04d-%s", i, f.name), steps: f.steps(g)}
		made[i].mark()
	}
	return made
}

// mark names the definitions, after the life and the change that they are of.
func (c *canary) mark() {
	life, revision := 0, 0
	for i := range c.steps {
		s := &c.steps[i]
		if s.kind == created {
			life, revision = life+1, 0
		}
		if s.def != nil {
			revision++
			s.def.marker = fmt.Sprintf("%d-%d", life, revision)
		}
	}
}

// at returns a moment of the run, 0 being its beginning and 1 its end.
func (g *generator) at(part float64) time.Time {
	return g.began.Add(time.Duration(part * float64(g.length))).Truncate(time.Millisecond)
}

// within returns any moment between two.
func (g *generator) within(from, to float64) time.Time {
	return g.at(from + g.rng.Float64()*(to-from))
}

// sharp is within, from a moment until shortly before the end, on the second.
func (g *generator) sharp(from float64) time.Time {
	return g.within(from, 0.9).Truncate(time.Second)
}

// every recurs at every beat, or so many of them, but not so often that history
// could not hold it.
func (g *generator) every(beats int) *client.Recurrence {
	scale := 1 + int(g.length/g.beat)/mostRows
	unit := "second"
	if g.beat >= time.Minute {
		unit = "minute"
	}
	return &client.Recurrence{Frequency: unit, Interval: beats * scale}
}

// period is how long rec, made by every, waits.
func (g *generator) period(rec *client.Recurrence) time.Duration {
	return time.Duration(rec.Interval) * g.beat
}

// past returns a start in the past from which every hits the run.
func (g *generator) past(rec *client.Recurrence) time.Time {
	back := time.Duration(1+g.rng.IntN(2000)) * g.period(rec)
	return g.within(0, 1).Add(-back)
}

// beats returns how many times rec occurs in a part of the run, but at least one.
func (g *generator) beats(rec *client.Recurrence, part float64) int {
	return max(1, int(part*float64(g.length)/float64(g.period(rec))))
}

func (g *generator) one(d *definition) []step { return []step{g.create(d)} }

func (g *generator) create(d *definition) step { return step{at: g.began, kind: created, def: d} }

func (g *generator) retries(count int) *policy { return &policy{count, g.minRetry} }
