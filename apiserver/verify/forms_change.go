package verify

import "time"

// retryForms are actions that fail.
func retryForms() []form {
	once := func(make func(g *generator, d *definition)) func(*generator) []step {
		return func(g *generator) []step {
			d := &definition{start: g.within(0.1, 0.4)}
			make(g, d)
			return g.one(d)
		}
	}
	return []form{
		{"retry", once(func(g *generator, d *definition) {
			d.retry, d.main = g.retries(3), script{fails: 1 + g.rng.IntN(2)}
		})},
		{"retry-in-vain", once(func(g *generator, d *definition) {
			d.retry, d.main = g.retries(1), script{fails: always}
		})},
		{"retry-none", once(func(_ *generator, d *definition) {
			d.retry, d.main = &policy{}, script{fails: always}
		})},
		{"postponed", once(func(g *generator, d *definition) { // by longer than the interval
			d.retry, d.main = g.retries(2), script{fails: 1, retryAfter: g.minRetry + time.Second}
		})},
		{"postponed-shorter", once(func(g *generator, d *definition) {
			d.retry, d.main = &policy{1, g.minRetry + time.Second}, script{fails: always, retryAfter: time.Second}
		})},
		{"error-action", once(func(g *generator, d *definition) { // under the action's own policy
			d.retry, d.main, d.fallback = g.retries(1), script{fails: always}, true
		})},
		{"error-action-retried", once(func(g *generator, d *definition) {
			d.retry, d.main, d.fallback, d.error = g.retries(1), script{fails: always}, true, script{fails: 1}
		})},
		{"error-action-own-policy", once(func(g *generator, d *definition) {
			d.retry, d.main, d.fallback, d.own, d.error = &policy{}, script{fails: always}, true, g.retries(1), script{fails: always}
		})},
		{"error-action-none", once(func(g *generator, d *definition) { // never needed
			d.retry, d.main, d.fallback = g.retries(2), script{fails: 1}, true
		})},
		{"error-action-default", func(g *generator) []step { // a one-time job that succeeds under the default policy
			return g.one(&definition{fallback: true})
		}},
		{"every-retried", func(g *generator) []step {
			rec := g.every(2)
			rec.Count = g.beats(rec, 0.5)
			return g.one(&definition{start: g.past(rec), rec: rec, retry: g.retries(1), main: script{fails: 1}})
		}},
		{"every-faulted", func(g *generator) []step {
			rec := g.every(2)
			rec.Count = g.beats(rec, 0.4)
			return g.one(&definition{rec: rec, retry: &policy{}, main: script{fails: always}, fallback: true})
		}},
	}
}

// changeForms are jobs that something is done to.
func changeForms() []form {
	return []form{
		{"disable-enable", func(g *generator) []step {
			rec := g.every(1)
			return append(g.one(&definition{start: g.past(rec), rec: rec}), g.to(0.25, 0.35, disabled, nil), g.to(0.55, 0.65, enabled, nil))
		}},
		{"disable", func(g *generator) []step {
			return append(g.one(&definition{rec: g.every(1)}), g.to(0.4, 0.6, disabled, nil))
		}},
		{"disabled", func(g *generator) []step { return g.one(&definition{rec: g.every(1), disabled: true}) }},
		{"disabled-enable", func(g *generator) []step { // "now" is when it is enabled
			return append(g.one(&definition{rec: g.every(1), disabled: true}), g.to(0.3, 0.5, enabled, nil))
		}},
		{"disabled-over-its-time", func(g *generator) []step { // nothing is made up
			return append(g.one(&definition{start: g.at(0.55)}), g.to(0.2, 0.3, disabled, nil), g.to(0.75, 0.8, enabled, nil))
		}},
		{"count-over-disable", func(g *generator) []step {
			rec := g.every(1)
			rec.Count = g.beats(rec, 0.5)
			return append(g.one(&definition{start: g.past(rec), rec: rec}), g.to(0.2, 0.3, disabled, nil), g.to(0.4, 0.5, enabled, nil))
		}},
		{"patch-schedule", func(g *generator) []step {
			rec, next := g.every(1), g.every(2)
			d := &definition{start: g.past(rec), rec: rec}
			return append(g.one(d), g.to(0.4, 0.6, rescheduled, &definition{start: d.start.Add(137 * time.Millisecond), rec: next}))
		}},
		{"patch-schedule-count", func(g *generator) []step { // counted anew
			rec, next := g.every(1), g.every(1)
			rec.Count, next.Count = g.beats(rec, 0.6), g.beats(next, 0.2)
			d := &definition{start: g.past(rec), rec: rec}
			return append(g.one(d), g.to(0.2, 0.4, rescheduled, &definition{start: d.start, rec: next}))
		}},
		{"patch-action", func(g *generator) []step {
			rec := g.every(1)
			d := definition{start: g.past(rec), rec: rec}
			return append(g.one(new(d)), g.to(0.3, 0.4, redirected, new(d)), g.to(0.6, 0.7, redirected, new(d)))
		}},
		{"patch-action-retried", func(g *generator) []step { // retries go on with the action they began with
			rec := g.every(1)
			d := definition{start: g.past(rec), rec: rec, retry: g.retries(1), main: script{fails: 1}}
			return append(g.one(new(d)), g.to(0.4, 0.6, redirected, new(d)))
		}},
		{"patch-action-counted", func(g *generator) []step { // the series goes on, and its count
			rec := g.every(1)
			rec.Count = g.beats(rec, 0.6)
			d := definition{rec: rec}
			return append(g.one(new(d)), g.to(0.3, 0.5, redirected, new(d)))
		}},
		{"put-again", func(g *generator) []step { // nothing changes, so nothing begins anew
			return append(g.one(&definition{rec: g.every(2)}), g.to(0.2, 0.5, repeated, nil), g.to(0.6, 0.8, repeated, nil))
		}},
		{"put-other", func(g *generator) []step { // a new series: "now" again
			return append(g.one(&definition{rec: g.every(1)}), g.to(0.4, 0.6, replaced, &definition{rec: g.every(2)}))
		}},
		{"delete", func(g *generator) []step {
			return append(g.one(&definition{rec: g.every(1)}), g.to(0.4, 0.6, deleted, nil))
		}},
		{"recreate", func(g *generator) []step {
			rec := g.every(1)
			d := definition{start: g.past(rec), rec: rec}
			return append(g.one(new(d)), g.to(0.3, 0.4, deleted, nil), g.to(0.5, 0.6, created, new(d)))
		}},
		{"recreate-at-once", func(g *generator) []step {
			when := g.within(0.3, 0.5)
			return append(g.one(&definition{rec: g.every(1)}), step{when, deleted, nil}, step{when, created, &definition{rec: g.every(1)}})
		}},
		{"run", func(g *generator) []step {
			rec := g.every(2)
			return append(g.one(&definition{start: g.past(rec), rec: rec}), g.to(0.3, 0.4, ran, nil), g.to(0.6, 0.7, ran, nil))
		}},
		{"run-counted", func(g *generator) []step { // beside the count
			rec := g.every(2)
			rec.Count = g.beats(rec, 0.9)
			return append(g.one(&definition{rec: rec}), g.to(0.2, 0.3, ran, nil))
		}},
		{"run-before-start", func(g *generator) []step {
			return append(g.one(&definition{start: g.began.Add(24 * time.Hour)}), g.to(0.2, 0.8, ran, nil))
		}},
		{"run-disabled", func(g *generator) []step {
			d := &definition{rec: g.every(1), disabled: true, retry: g.retries(1), main: script{fails: 1}}
			return append(g.one(d), g.to(0.2, 0.7, ran, nil))
		}},
	}
}

// to is something done to a job between two moments.
func (g *generator) to(from, to float64, kind changeKind, d *definition) step {
	return step{g.within(from, to), kind, d}
}
