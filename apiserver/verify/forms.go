package verify

import (
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// form is a kind of canary.
type form struct {
	name  string
	steps func(*generator) []step
}

// forms are all kinds of canaries.
func forms() []form {
	var list []form
	list = append(list, simpleForms()...)
	list = append(list, calendarForms()...)
	list = append(list, retryForms()...)
	return append(list, changeForms()...)
}

// simpleForms are the rows of AZURE's table of schedules, and what ends a series.
func simpleForms() []form {
	return []form{
		{"once-now", func(g *generator) []step { return g.one(&definition{}) }},
		{"once-past", func(g *generator) []step {
			return g.one(&definition{start: g.began.Add(-time.Duration(1+g.rng.IntN(1e6)) * time.Second)})
		}},
		{"once-future", func(g *generator) []step { return g.one(&definition{start: g.within(0.3, 0.95)}) }},
		{"once-later", func(g *generator) []step { return g.one(&definition{start: g.began.Add(24 * time.Hour)}) }},
		{"every", func(g *generator) []step { return g.one(&definition{rec: g.every(1 + g.rng.IntN(3))}) }},
		{"every-past", func(g *generator) []step {
			rec := g.every(1 + g.rng.IntN(3))
			return g.one(&definition{start: g.past(rec), rec: rec})
		}},
		{"every-future", func(g *generator) []step {
			return g.one(&definition{start: g.within(0.2, 0.6), rec: g.every(1 + g.rng.IntN(2))})
		}},
		{"count", func(g *generator) []step {
			rec := g.every(1)
			rec.Count = g.beats(rec, 0.2+0.4*g.rng.Float64())
			return g.one(&definition{rec: rec})
		}},
		{"count-past", func(g *generator) []step { // a past start does not use it up
			rec := g.every(1)
			rec.Count = g.beats(rec, 0.2+0.4*g.rng.Float64())
			return g.one(&definition{start: g.past(rec), rec: rec})
		}},
		{"end", func(g *generator) []step {
			rec := g.every(1)
			rec.EndTime = g.within(0.4, 0.8)
			return g.one(&definition{start: g.past(rec), rec: rec})
		}},
		{"end-exact", func(g *generator) []step { // an occurrence at endTime itself
			rec := g.every(1)
			start := g.past(rec)
			rec.EndTime = start.Add(g.at(0.6).Sub(start).Truncate(g.period(rec)))
			return g.one(&definition{start: start, rec: rec})
		}},
		{"count-or-end", func(g *generator) []step {
			rec := g.every(1)
			rec.EndTime = g.within(0.3, 0.9)
			rec.Count = g.beats(rec, 0.3+0.6*g.rng.Float64())
			return g.one(&definition{start: g.within(0.1, 0.3), rec: rec})
		}},
		{"slow", func(g *generator) []step { // the next one begins before the first is done
			rec := g.every(1)
			return g.one(&definition{start: g.past(rec), rec: rec, main: script{delay: 1200 * time.Millisecond}})
		}},
	}
}

// calendarForms are schedules around the present. Some of their occurrences fall
// into the run, others would if a rule were not kept.
func calendarForms() []form {
	list := []form{
		{"minute", func(g *generator) []step {
			n := 1 + g.rng.IntN(5)
			return g.one(&definition{start: g.sharp(0.2).Add(-time.Duration(n*(1+g.rng.IntN(300))) * time.Minute), rec: &client.Recurrence{Frequency: "minute", Interval: n}})
		}},
		{"filter", func(g *generator) []step { // a grid, of which a schedule lets some pass
			rec := g.every(1)
			x := g.within(0, 1)
			rec.Schedule = &client.Schedule{Minutes: []int{x.Minute()}, Hours: []int{x.Hour(), (x.Hour() + 5) % 24}}
			return g.one(&definition{start: g.past(rec), rec: rec})
		}},
		{"shut", func(g *generator) []step { // a grid, of which it lets none pass now
			rec := g.every(1)
			rec.Schedule = &client.Schedule{Hours: []int{(g.began.Hour() + 12) % 24}}
			return g.one(&definition{start: g.past(rec), rec: rec})
		}},
		{"now-and-schedule", func(g *generator) []step { // without a start: now, then by the schedule
			return g.one(&definition{rec: &client.Recurrence{Frequency: "day", Schedule: &client.Schedule{Minutes: []int{0, 15, 30, 45, g.at(0.7).Minute()}}}})
		}},
		{"year", func(g *generator) []step {
			return g.one(&definition{start: monthsBefore(g.sharp(0.3), 12), rec: &client.Recurrence{Frequency: "year"}})
		}},
		{"year-months", func(g *generator) []step {
			x := g.sharp(0.3)
			return g.one(&definition{start: monthsBefore(x, 1), rec: &client.Recurrence{Frequency: "year", Schedule: &client.Schedule{Months: []int{int(x.Month())}}}})
		}},
	}
	for _, frequency := range []string{"hour", "day", "week", "month"} {
		list = append(list, form{frequency, func(g *generator) []step {
			x := g.sharp(0.2)
			return g.one(&definition{start: g.before(x, frequency, 1+g.rng.IntN(3)), rec: &client.Recurrence{Frequency: frequency, Interval: 1}})
		}}, form{frequency + "-skipped", func(g *generator) []step { // the interval leaves this one out
			x := g.sharp(0.2)
			return g.one(&definition{start: g.before(x, frequency, 3), rec: &client.Recurrence{Frequency: frequency, Interval: 2}})
		}}, form{frequency + "-schedule", func(g *generator) []step {
			x := g.sharp(0.2)
			rec := &client.Recurrence{Frequency: frequency, Interval: 1 + g.rng.IntN(2)}
			rec.Schedule = g.schedule(frequency, x, false)
			return g.one(&definition{start: g.before(x, frequency, 2), rec: rec})
		}}, form{frequency + "-schedule-not", func(g *generator) []step { // one element rules this out
			x := g.sharp(0.2)
			rec := &client.Recurrence{Frequency: frequency, Interval: 1, Schedule: g.schedule(frequency, x, true)}
			return g.one(&definition{start: g.before(x, frequency, 2), rec: rec})
		}})
	}
	return append(list, form{"any", func(g *generator) []step {
		x := g.sharp(0.2)
		rec := g.anyRecurrence(x)
		return g.one(&definition{start: g.before(x, rec.Frequency, rec.Interval*(1+g.rng.IntN(3))), rec: rec})
	}})
}
