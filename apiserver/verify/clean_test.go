package verify

import (
	"testing"
	"time"
)

// TestClean: what is as it should be passes.
func TestClean(t *testing.T) {
	for name, build := range map[string]func(w *world){
		"every":           func(w *world) { w.job(did(created, 0, every())) },
		"now":             func(w *world) { w.job(did(created, 0, &definition{rec: seconds(2)})) },
		"once":            func(w *world) { w.job(did(created, 0, &definition{})) },
		"future":          func(w *world) { w.job(did(created, 0, &definition{start: sec(5)})) },
		"later":           func(w *world) { w.job(did(created, 0, &definition{start: sec(500)})) },
		"count":           func(w *world) { w.job(did(created, 0, &definition{start: sec(-9.5), rec: counted(3)})) },
		"end":             func(w *world) { w.job(did(created, 0, &definition{start: sec(-9.5), rec: until(4.5)})) },
		"retried":         func(w *world) { w.job(did(created, 0, failing(2, 3))) },
		"faulted":         func(w *world) { w.job(did(created, 0, failing(always, 2))) },
		"fallback":        func(w *world) { w.job(did(created, 0, fallback())) },
		"disabled":        func(w *world) { w.job(did(created, 0, &definition{rec: seconds(1), disabled: true})) },
		"disable, enable": func(w *world) { w.job(did(created, 0, every()), did(disabled, 3, nil), did(enabled, 6, nil)) },
		"enabled later": func(w *world) {
			w.job(did(created, 0, &definition{rec: seconds(1), disabled: true}), did(enabled, 3, nil))
		},
		"its time passed while it was disabled": func(w *world) {
			w.job(did(created, 0, &definition{start: sec(5)}), did(disabled, 3, nil), did(enabled, 7, nil))
		},
		"deleted": func(w *world) { w.job(did(created, 0, every()), did(deleted, 4, nil)) },
		"rescheduled": func(w *world) {
			w.job(did(created, 0, every()), did(rescheduled, 4, &definition{start: sec(-99.25), rec: seconds(2)}))
		},
		"replaced": func(w *world) {
			w.job(did(created, 0, &definition{rec: counted(2)}), did(replaced, 1.5, &definition{rec: counted(2)}))
		},
		"replaced, just when it was due": func(w *world) { // now is 4.495
			l := w.job(did(created, 0, every()), did(replaced, 4.485, &definition{rec: seconds(2)}))
			w.move(l, sec(4.495), sec(4.501))
			w.perform(l, l.changes[0].def, sec(4.5))
			w.recount()
		},
		"redirected": func(w *world) { w.job(did(created, 0, every()), did(redirected, 4, every())) },
		"repeated":   func(w *world) { w.job(did(created, 0, &definition{rec: seconds(1)}), did(repeated, 4, nil)) },
		"run":        func(w *world) { w.job(did(created, 0, every()), did(ran, 4.2, nil)) },
		"run twice":  func(w *world) { w.job(did(created, 0, every()), did(ran, 4.2, nil), did(ran, 4.3, nil)) },
		"run on the dot": func(w *world) { // a scheduled occurrence and one asked for at one nominal time
			w.job(did(created, 0, every()), did(ran, 4.49, nil))
		},
		"refused with good reason": func(w *world) {
			c := did(enabled, 5, nil)
			c.outcome, c.excused = refused, true
			w.job(did(created, 0, &definition{rec: counted(2)}), c)
		},
		"never answered": func(w *world) { // neither what came after nor what did not is wrong
			c := did(disabled, 5, nil)
			c.outcome = unclear
			l := w.job(did(created, 0, every()), c)
			w.perform(l, l.changes[0].def, sec(6.5))
			w.recount()
		},
		"never answered, carried out late": func(w *world) {
			c := did(created, 5, &definition{rec: counted(1)})
			w.job(c)
			w.lives[0].changes[0].outcome, w.lives[0].changes[0].next = unclear, time.Time{}
			w.arrivals[0].nominal = sec(8)
			w.lives[0].read = false
			w.arrivals[0].at, w.arrivals[0].doneAt = sec(8.01), sec(8.02)
		},
		"collection switched": func(w *world) {
			w.switches["c"] = []change{did(disabled, 3, nil), did(enabled, 6, nil)}
			w.job(did(created, 0, every()))
		},
		"on a boundary, not run": func(w *world) {
			w.job(did(created, 0, every()), did(disabled, 4.495, nil))
			w.drop(len(w.arrivals)-1, true)
			w.recount()
		},
		"missed, with a row": func(w *world) {
			l := w.job(did(created, 0, every()))
			for range 3 {
				w.drop(2, true)
			}
			w.recount()
			l.skips = []row{{ExpectedExecutionTime: sec(5.5), EndTime: sec(5.6), Status: "skipped", Message: "Not executed: 3 occurrences before this one were missed while no planner was at work."}}
		},
		"retry stopped": func(w *world) {
			l := w.job(did(created, 0, failing(1, 3)), did(disabled, 2.9, nil))
			w.drop(1, true)
			w.recount()
			l.found.state = stateDisabled
			l.skips = []row{{ExpectedExecutionTime: sec(2.5), EndTime: sec(3.6), Status: "skipped", Message: "Not executed: the job was disabled."}}
		},
		"a caller that went away": func(w *world) { // it was performed again, or it was not
			w.job(did(created, 0, every()))
			w.arrivals[3].aborted = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			build(w)
			v := judge(&w.evidence, bounds{margins: margins{grace: 100 * time.Millisecond}})
			if len(v.violations) > 0 {
				t.Errorf("%+v", v.violations)
			}
		})
	}
}
