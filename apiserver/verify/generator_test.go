package verify

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

func generatorAt(seed uint64, began time.Time, beat time.Duration) *generator {
	minRetry := time.Second
	if beat > time.Second {
		minRetry = 15 * time.Second
	}
	return &generator{rng: rand.New(rand.NewPCG(seed, 1)), began: began, length: 30 * beat, beat: beat, minRetry: minRetry}
}

// TestCanaries: whatever the day and the seed, each form makes schedules that come
// true some time, changes in order, and definitions that can be told apart.
func TestCanaries(t *testing.T) {
	for seed := range uint64(60) {
		began := at("2026-01-29T23:59:50.123Z").AddDate(0, 0, int(seed)*7)
		beat := []time.Duration{time.Second, time.Minute}[seed%2]
		g := generatorAt(seed, began, beat)
		for _, k := range g.canaries(2*len(forms()), nil) {
			when, markers := began, map[string]bool{}
			for i, s := range k.steps {
				if s.at.Before(when) || (s.kind == created) != (s.def != nil && (i == 0 || k.steps[i-1].kind == deleted)) {
					t.Errorf("seed %d, %s: step %d is %s at %v, after %v", seed, k.form, i, s.kind, s.at, when)
				}
				when = s.at
				if s.def == nil {
					continue
				}
				if markers[s.def.marker] {
					t.Errorf("seed %d, %s: two definitions are %s", seed, k.form, s.def.marker)
				}
				markers[s.def.marker] = true
				if s.def.rec == nil {
					continue
				}
				anchor := s.def.start
				if anchor.IsZero() {
					anchor = began
				}
				series, err := recur.Compile(specOf(t, s.def.rec), anchor)
				if err != nil || series.Next(began).IsZero() {
					t.Errorf("seed %d, %s: %+v, %+v from %v never occurs: %v", seed, k.form, s.def.rec, s.def.rec.Schedule, anchor, err)
				}
				if fastest := specOf(t, s.def.rec).Fastest(); fastest < beat {
					t.Errorf("seed %d, %s: %+v occurs every %v", seed, k.form, s.def.rec, fastest)
				}
			}
		}
	}
}

// TestSeed: the same seed makes the same jobs, another one others.
func TestSeed(t *testing.T) {
	began := at("2026-05-05T05:05:05Z")
	made := func(seed uint64) []*canary { return generatorAt(seed, began, time.Second).canaries(70, nil) }
	opts := cmp.AllowUnexported(canary{}, step{}, definition{}, policy{}, script{})
	if d := cmp.Diff(made(1), made(1), opts); d != "" {
		t.Error(d)
	}
	if cmp.Equal(made(1), made(2), opts) {
		t.Error("seeds 1 and 2 make the same")
	}
}

// TestInside: of the schedules around the present, some occur in the run and some
// do not, of each frequency.
func TestInside(t *testing.T) {
	in, out := map[string]int{}, map[string]int{}
	for seed := range uint64(40) {
		g := generatorAt(seed, at("2026-07-15T12:00:10Z").AddDate(0, 0, int(seed)), time.Second)
		for _, k := range g.canaries(len(forms()), nil) {
			d := k.steps[0].def
			if d.rec == nil || d.start.IsZero() || !d.start.Before(g.began) {
				continue
			}
			if len((calendar{d.rec, d.start}).between(g.began, g.at(1))) > 0 {
				in[k.form]++
			} else {
				out[k.form]++
			}
		}
	}
	for _, form := range []string{"hour", "day", "week", "month", "year", "year-months", "minute", "filter"} {
		if in[form] < 30 {
			t.Errorf("%s: %d in, %d out", form, in[form], out[form])
		}
	}
	for _, form := range []string{"hour-schedule", "day-schedule", "week-schedule", "month-schedule", "any"} {
		if in[form] < 10 {
			t.Errorf("%s: %d in, %d out", form, in[form], out[form])
		}
	}
	for _, form := range []string{"hour-skipped", "day-skipped", "week-skipped", "month-skipped", "hour-schedule-not", "day-schedule-not", "week-schedule-not", "month-schedule-not", "shut"} {
		if out[form] < 30 {
			t.Errorf("%s: %d in, %d out", form, in[form], out[form])
		}
	}
}
