package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

func seconds(n int) *client.Recurrence { return &client.Recurrence{Frequency: "second", Interval: n} }

func counted(n int) *client.Recurrence {
	return &client.Recurrence{Frequency: "second", Interval: 1, Count: n}
}

func until(s float64) *client.Recurrence {
	return &client.Recurrence{Frequency: "second", Interval: 1, EndTime: sec(s)}
}

// every is a definition that occurs at each half second.
func every() *definition { return &definition{start: sec(-99.5), rec: seconds(1)} }

func failing(fails, count int) *definition {
	return &definition{start: sec(2.5), retry: &policy{count, time.Second}, main: script{fails: fails}}
}

func fallback() *definition {
	return &definition{start: sec(2.5), retry: &policy{1, time.Second}, main: script{fails: always}, fallback: true, own: &policy{2, time.Second}, error: script{fails: 1}}
}

// found returns how many violations there are of each kind.
func kindsOf(v *verdict) map[Kind]int {
	m := make(map[Kind]int)
	for _, x := range v.violations {
		m[x.Kind]++
	}
	return m
}

// recount makes counters of what rows are left.
func (w *world) recount() {
	for _, l := range w.lives {
		state := l.found.state
		l.found = &found{}
		w.finish(l, newTimeline(l.changes, margins{}))
		l.found.state = state
	}
}

// again has the n-th request arrive once more.
func (w *world) again(n int, change func(a *arrival)) {
	a := w.arrivals[n]
	a.id = int64(len(w.arrivals) + 1000)
	a.at, a.doneAt = a.at.Add(50*time.Millisecond), a.doneAt.Add(50*time.Millisecond)
	change(&a)
	w.arrivals = append(w.arrivals, a)
}

// TestViolations: each kind of violation is found, and nothing else with it.
func TestViolations(t *testing.T) {
	otherTag := func(a *arrival) { a.tag = strings.Repeat("f", 32) }
	for _, tt := range []struct {
		name   string
		build  func(w *world)
		bounds bounds
		want   []Kind
	}{
		{"lost", func(w *world) { w.job(did(created, 0, every())); w.drop(4, true); w.recount() }, bounds{}, []Kind{Lost}},
		{"lost of a deleted job", func(w *world) {
			w.job(did(created, 0, every()), did(deleted, 3, nil)).found = nil
			w.drop(1, true)
		}, bounds{}, []Kind{Lost}},
		{"lost of a deleted job, or unanswered", func(w *world) {
			l := w.job(did(created, 0, every()), did(deleted, 3, nil))
			l.found, l.read = nil, false // of one that was made again
			w.drop(1, true)
		}, bounds{maxUnanswered: 1}, nil},
		{"now lost", func(w *world) {
			l := w.job(did(created, 0, &definition{}))
			w.drop(0, true)
			l.found.status, l.changes[0].next, l.found.state = client.Status{}, time.Time{}, stateEnabled
		}, bounds{}, []Kind{Lost}},
		{"run lost", func(w *world) { w.job(did(created, 0, every()), did(ran, 4.2, nil)); w.drop(11, true); w.recount() }, bounds{}, []Kind{Lost}},
		{"hidden from the target", func(w *world) { w.job(did(created, 0, every())); w.drop(4, false) }, bounds{}, []Kind{History}},
		{"skipped for no reason", func(w *world) {
			l := w.job(did(created, 0, every()))
			w.drop(4, true)
			w.recount()
			l.skips = []row{{ExpectedExecutionTime: sec(4.5), EndTime: sec(4.6), Message: "Not executed: the job was disabled."}}
		}, bounds{}, []Kind{Lost}},
		{"doubled, different tag", func(w *world) { w.job(did(created, 0, every())); w.again(4, otherTag) }, bounds{}, []Kind{DoubledTag, History}},
		{"doubled, same tag", func(w *world) { w.job(did(created, 0, every())); w.again(4, func(*arrival) {}) }, bounds{}, []Kind{Doubled}},
		{"doubled, same tag, tolerated", func(w *world) { w.job(did(created, 0, every())); w.again(4, func(*arrival) {}) }, bounds{maxDuplicates: 1}, nil},
		{"doubled, same tag, too often", func(w *world) {
			w.job(did(created, 0, every()))
			w.again(4, func(*arrival) {})
			w.again(5, func(*arrival) {})
		}, bounds{maxDuplicates: 1}, []Kind{Doubled, Doubled}},
		{"run doubled", func(w *world) { w.job(did(created, 0, every()), did(ran, 4.2, nil)); w.again(11, otherTag) }, bounds{}, []Kind{Unscheduled, History}},
		{"early", func(w *world) {
			l := w.job(did(created, 0, every()))
			w.arrivals[4].at = w.arrivals[4].nominal.Add(-time.Millisecond)
			l.rows[4].StartTime = w.arrivals[4].at
		}, bounds{}, []Kind{Early}},
		{"early, by clocks that differ", func(w *world) {
			w.job(did(created, 0, every()))
			w.arrivals[4].at = w.arrivals[4].nominal.Add(-time.Millisecond)
		}, bounds{margins: margins{skew: 2 * time.Millisecond}}, nil},
		{"late, max", func(w *world) { w.job(did(created, 0, every())) }, bounds{maxLate: time.Millisecond}, []Kind{Late}},
		{"late, p99", func(w *world) { w.job(did(created, 0, every())) }, bounds{maxP99: time.Millisecond}, []Kind{Late}},
		{"late, tolerated", func(w *world) { w.job(did(created, 0, every())) }, bounds{maxLate: 3 * time.Millisecond, maxP99: 3 * time.Millisecond}, nil},
		{"unscheduled", func(w *world) {
			l := w.job(did(created, 0, every()))
			w.again(4, func(a *arrival) { otherTag(a); a.nominal = a.nominal.Add(7 * time.Millisecond) })
			l.read = false
		}, bounds{}, []Kind{Unscheduled}},
		{"unknown definition", func(w *world) {
			w.job(did(created, 0, every()))
			w.again(4, func(a *arrival) { otherTag(a); a.marker = "9-9" })
		}, bounds{}, []Kind{Unscheduled}},
		{"now is not what was answered", func(w *world) {
			l := w.job(did(created, 0, every()), did(replaced, 4.485, &definition{rec: seconds(2)}))
			w.move(l, sec(4.495), sec(4.501))
		}, bounds{}, []Kind{Lost, Unscheduled}},
		{"now is not now", func(w *world) {
			l := w.job(did(created, 0, &definition{}))
			l.changes[0].next, l.rows[0].ExpectedExecutionTime, w.arrivals[0].nominal = sec(-1), sec(-1), sec(-1)
		}, bounds{}, []Kind{Unscheduled, Stopped, State}},
		{"count", func(w *world) {
			l := w.job(did(created, 0, &definition{start: sec(-9.5), rec: counted(3)}))
			w.perform(l, l.changes[0].def, sec(3.5))
			w.recount()
		}, bounds{}, []Kind{Count}},
		{"count, of which one was stopped", func(w *world) { // it was planned, so it counts
			w.switches["c"] = []change{did(disabled, 2.45, nil), did(enabled, 2.6, nil)}
			l := w.job(did(created, 0, &definition{start: sec(-9.5), rec: counted(3)}))
			w.drop(2, true)
			w.recount()
			l.found.state = stateCompleted
			l.skips = []row{{ExpectedExecutionTime: sec(2.5), EndTime: sec(2.6), Message: "Not executed: the job collection was disabled."}}
		}, bounds{}, nil},
		{"count, too few", func(w *world) {
			l := w.job(did(created, 0, &definition{start: sec(-9.5), rec: counted(3)}))
			w.drop(2, true)
			w.recount()
			l.found.state = stateCompleted
		}, bounds{}, []Kind{State, Lost, Lost, Lost, Lost, Lost, Lost, Lost, Lost}},
		{"end time", func(w *world) {
			l := w.job(did(created, 0, &definition{start: sec(-9.5), rec: until(4.5)}))
			w.perform(l, l.changes[0].def, sec(5.5))
			w.recount()
		}, bounds{}, []Kind{End}},
		{"disabled", func(w *world) {
			l := w.job(did(created, 0, every()), did(disabled, 3, nil))
			w.perform(l, l.changes[0].def, sec(3.5))
			w.recount()
		}, bounds{}, []Kind{Stopped}},
		{"deleted", func(w *world) {
			l := w.job(did(created, 0, every()), did(deleted, 3, nil))
			w.perform(l, l.changes[0].def, sec(3.5))
		}, bounds{}, []Kind{Stopped}},
		{"collection disabled", func(w *world) {
			w.switches["c"] = []change{did(disabled, 3, nil)}
			l := w.job(did(created, 0, every()))
			w.perform(l, l.changes[0].def, sec(3.5))
			w.recount()
		}, bounds{}, []Kind{Stopped}},
		{"retried though disabled", func(w *world) {
			w.job(did(created, 0, failing(1, 3)), did(disabled, 2.9, nil))
			w.lives[0].found.state = stateDisabled
		}, bounds{}, []Kind{Stopped}},
		{"replaced", func(w *world) {
			l := w.job(did(created, 0, every()), did(rescheduled, 3, &definition{start: sec(-99.25), rec: seconds(1)}))
			w.perform(l, l.changes[0].def, sec(5.5))
			w.recount()
		}, bounds{}, []Kind{Stopped}},
		{"the new time with the old action", func(w *world) {
			l := w.job(did(created, 0, every()), did(rescheduled, 3, &definition{start: sec(-99.25), rec: seconds(1)}))
			for i := range w.arrivals {
				if a := &w.arrivals[i]; a.nominal.Equal(sec(5.75)) {
					a.marker = l.changes[0].def.marker
				}
			}
		}, bounds{}, []Kind{Mixed, Lost}},
		{"the old action after a change", func(w *world) {
			l := w.job(did(created, 0, every()), did(redirected, 3, every()))
			w.arrivals[5].marker = l.changes[0].def.marker
		}, bounds{}, []Kind{Mixed, Lost}},
		{"the new action before a change", func(w *world) {
			l := w.job(did(created, 0, every()), did(redirected, 3, every()))
			w.arrivals[1].marker = l.changes[1].def.marker
		}, bounds{}, []Kind{Mixed, Lost}},
		{"a retry with a newer action", func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)), did(redirected, 3, failing(1, 3)))
			w.arrivals[1].marker = l.changes[1].def.marker
		}, bounds{}, []Kind{Mixed}},
		{"a retry with a newer action, after Redis was lost", func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)), did(redirected, 3, failing(1, 3)))
			w.arrivals[1].marker = l.changes[1].def.marker
		}, bounds{stateLost: true}, nil},
		{"retry too soon", func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)))
			w.arrivals[1].at, w.arrivals[1].doneAt = w.arrivals[0].doneAt.Add(999*time.Millisecond), sec(4)
			l.rows[1].StartTime = w.arrivals[1].at
			l.found.status.LastExecutionTime = w.arrivals[1].at
		}, bounds{}, []Kind{RetrySoon}},
		{"retry sooner than the target knows, after no answer", func(w *world) { // the answer was cut off, the target went on
			l := w.job(did(created, 0, failing(1, 3)))
			l.rows[0].Message = "Http Action - no answer"
			w.arrivals[0].doneAt = w.arrivals[0].doneAt.Add(300 * time.Millisecond)
		}, bounds{maxUnanswered: 1}, nil},
		{"retry sooner than the target knows, after an answer", func(w *world) {
			w.job(did(created, 0, failing(1, 3)))
			w.arrivals[0].doneAt = w.arrivals[0].doneAt.Add(300 * time.Millisecond)
		}, bounds{maxUnanswered: 1}, []Kind{RetrySoon}},
		{"retry sooner than Retry-After", func(w *world) {
			d := failing(1, 3)
			d.main.retryAfter = 2 * time.Second
			w.job(did(created, 0, d))
			w.arrivals[0].retryAfter = 3 * time.Second
		}, bounds{}, []Kind{RetrySoon}},
		{"retry sooner than a Retry-After that did not arrive", func(w *world) {
			d := failing(1, 3)
			d.main.retryAfter = 2 * time.Second
			l := w.job(did(created, 0, d))
			w.arrivals[0].retryAfter = 3 * time.Second
			l.rows[0].Status, l.rows[0].Message, l.found.status.FailureCount = rowFailed, "Http Action - no answer", 1
		}, bounds{maxUnanswered: 1}, nil},
		{"error action before the failure", func(w *world) {
			w.job(did(created, 0, fallback()))
			w.arrivals[1].doneAt = w.arrivals[2].at.Add(time.Millisecond)
		}, bounds{}, []Kind{RetrySoon}},
		{"retried too often", func(w *world) {
			d := failing(always, 3)
			l := w.job(did(created, 0, d))
			d.retry.count = 2
			l.found.status.FaultedCount = 1
		}, bounds{}, []Kind{RetryExcess}},
		{"retried after success", func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)))
			w.arrivals[0].status, l.rows[0].Status, l.found.status.FailureCount = 200, "", 0
		}, bounds{}, []Kind{RetryExcess}},
		{"retry missing", func(w *world) { w.job(did(created, 0, failing(2, 3))); w.drop(2, true); w.recount() }, bounds{}, []Kind{Unfinished}},
		{"retry left out", func(w *world) { w.job(did(created, 0, failing(2, 3))); w.drop(1, true); w.recount() }, bounds{}, []Kind{Unfinished}},
		{"error action missing", func(w *world) {
			w.job(did(created, 0, fallback()))
			w.drop(3, true)
			w.drop(2, true)
			w.recount()
		}, bounds{}, []Kind{Unfinished}},
		{"error action's retry missing", func(w *world) { w.job(did(created, 0, fallback())); w.drop(3, true); w.recount() }, bounds{}, []Kind{Unfinished}},
		{"error action undue", func(w *world) {
			d := fallback()
			l := w.job(did(created, 0, d))
			w.arrivals[1].status, l.rows[1].Status = 200, ""
			l.found.status.FailureCount--
			l.found.status.FaultedCount, l.found.state = 0, stateCompleted
		}, bounds{}, []Kind{ErrorAction}},
		{"error action unasked", func(w *world) {
			d := fallback()
			w.job(did(created, 0, d))
			d.fallback = false
		}, bounds{}, []Kind{ErrorAction}},
		{"headers", func(w *world) { w.job(did(created, 0, every())); w.arrivals[2].wrong = "no tag" }, bounds{}, []Kind{Request}},
		{"one tag, two times", func(w *world) {
			l := w.job(did(created, 0, every()))
			w.arrivals[3].tag = w.arrivals[2].tag
			l.read = false
		}, bounds{}, []Kind{Doubled, Lost, Request}},
		{"no row", func(w *world) {
			l := w.job(did(created, 0, every()))
			l.rows = slices.Delete(l.rows, 3, 4)
			w.recount()
		}, bounds{}, []Kind{History}},
		{"two rows", func(w *world) { l := w.job(did(created, 0, every())); l.rows = append(l.rows, l.rows[3]) }, bounds{}, []Kind{History}},
		{"a row of another answer", func(w *world) {
			l := w.job(did(created, 0, every()))
			l.rows[3].Message = "Http Action - Response from host 'h': 'OK' Body: hello"
		}, bounds{}, []Kind{History}},
		{"a row of another time", func(w *world) { l := w.job(did(created, 0, every())); l.rows[3].ExpectedExecutionTime = sec(4) }, bounds{}, []Kind{History}},
		{"a row that says failed", func(w *world) {
			l := w.job(did(created, 0, every()))
			l.rows[3].Status = rowFailed
			l.found.status.FailureCount = 1
		}, bounds{}, []Kind{History}},
		{"a row that says completed", func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)))
			l.rows[0].Status = ""
			l.found.status.FailureCount = 0
		}, bounds{}, []Kind{History}},
		{"a row of another hour", func(w *world) {
			l := w.job(did(created, 0, every()))
			l.rows[3].EndTime = l.rows[3].EndTime.Add(-time.Hour)
		}, bounds{}, []Kind{History}},
		{"missed, and ran", func(w *world) {
			l := w.job(did(created, 0, every()))
			l.skips = []row{{ExpectedExecutionTime: sec(5.5), Message: "Not executed: 1 occurrence before this one was missed while no planner was at work."}}
		}, bounds{}, []Kind{History}},
		{"unanswered", func(w *world) {
			l := w.job(did(created, 0, every()))
			w.drop(4, false)
			l.rows[4].Status, l.rows[4].Message = rowFailed, "Http Action - Request to host 'h' failed: ConnectFailure"
			l.found.status.FailureCount = 1
		}, bounds{}, []Kind{Unfinished, Unanswered}},
		{"executionCount", func(w *world) { w.job(did(created, 0, every())).found.status.ExecutionCount++ }, bounds{}, []Kind{Counters}},
		{"failureCount", func(w *world) { w.job(did(created, 0, every())).found.status.FailureCount++ }, bounds{}, []Kind{Counters}},
		{"faultedCount", func(w *world) { w.job(did(created, 0, failing(always, 1))).found.status.FaultedCount = 0 }, bounds{}, []Kind{Counters}},
		{"lastExecutionTime", func(w *world) { w.job(did(created, 0, every())).found.status.LastExecutionTime = sec(3) }, bounds{}, []Kind{Counters}},
		{"not completed", func(w *world) { w.job(did(created, 0, &definition{})).found.state = stateEnabled }, bounds{}, []Kind{State}},
		{"not faulted", func(w *world) { w.job(did(created, 0, failing(always, 1))).found.state = stateCompleted }, bounds{}, []Kind{State}},
		{"not disabled", func(w *world) {
			w.job(did(created, 0, &definition{rec: seconds(1), disabled: true})).found.state = stateEnabled
		}, bounds{}, []Kind{State}},
		{"definition lost", func(w *world) { w.job(did(created, 0, &definition{start: sec(500)})).found = nil }, bounds{}, []Kind{Definition}},
		{"definition of before", func(w *world) {
			l := w.job(did(created, 0, every()), did(redirected, 3, every()))
			l.found.uri = "http://t/run/c/j/" + l.changes[0].def.marker + "/main"
		}, bounds{}, []Kind{Definition}},
		{"back from the dead", func(w *world) {
			w.job(did(created, 0, &definition{start: sec(500)}), did(deleted, 3, nil)).found = &found{}
		}, bounds{}, []Kind{Definition}},
		{"refused", func(w *world) {
			c := did(disabled, 5, nil)
			c.outcome, c.reason = refused, "400"
			w.job(did(created, 0, every()), c)
		}, bounds{}, []Kind{Refused}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			tt.bounds.grace = 100 * time.Millisecond
			v := judge(&w.evidence, tt.bounds)
			want := map[Kind]int{}
			for _, k := range tt.want {
				want[k]++
			}
			if d := cmp.Diff(want, kindsOf(v)); d != "" {
				var all []string
				for _, x := range v.violations {
					all = append(all, fmt.Sprintf("%s %s: %s", x.Kind, clock(x.At), x.Detail))
				}
				t.Errorf("%s\n%s", d, strings.Join(all, "\n"))
			}
		})
	}
}
