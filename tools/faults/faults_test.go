package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMutantsHaveTheirPlace: what each mutant replaces is in the sources, exactly
// once, and so is what moves a clock in Go's own.
func TestMutantsHaveTheirPlace(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(mutants(), &mutant{name: "clock", edits: skewEdits()}) {
		if _, err := writeOverlay(root, t.TempDir(), m.edits); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestEditsMustFit: an edit that has no place, or more than one, is an error, and
// edits of one file go together.
func TestEditsMustFit(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), []byte("one two two three"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"two", "four"} {
		if _, err := writeOverlay(root, t.TempDir(), []edit{{"f", old, "x"}}); err == nil || !strings.Contains(err.Error(), "f has") {
			t.Errorf("an edit of %q: %v", old, err)
		}
	}
	dir := t.TempDir()
	if _, err := writeOverlay(root, dir, []edit{{"f", "one", "1"}, {"f", "three", "3"}}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "0-f")); err != nil || string(b) != "1 two two 3" {
		t.Errorf("edited: %q, %v", b, err)
	}
}

// TestSeedsRepeat: a seed means the same each time, and another one something else.
func TestSeedsRepeat(t *testing.T) {
	text := func(seed uint64) string {
		var b bytes.Buffer
		newPlan(seed, faults()).write(&b)
		return b.String()
	}
	first, again := text(7), text(7)
	if first != again {
		t.Errorf("seed 7 means\n%s and\n%s", first, again)
	}
	if first == text(8) {
		t.Error("seeds 7 and 8 mean the same")
	}
}

// TestSeedsInARowHaveEveryFault: so many as it takes to deal all kinds, on either
// kind of cluster, with calm after a fault that is held to a bound.
func TestSeedsInARowHaveEveryFault(t *testing.T) {
	kinds := faults()
	for _, first := range []uint64{0, 17, 1000} {
		had, skewed := make(map[string]bool), 0
		for seed := first; seed < first+20; seed++ {
			p := newPlan(seed, kinds)
			if p.layout.skewed != "" {
				skewed++
			}
			for i, e := range p.events {
				had[e.fault.name] = true
				if e.at+e.lasts > p.length {
					t.Errorf("seed %d: %s ends after the load, which takes %v", seed, e, p.length)
				}
				if e.fault.name == killPlanner && i+1 < len(p.events) && p.events[i+1].at < e.at+calm {
					t.Errorf("seed %d: %s comes too soon after %s", seed, p.events[i+1], e)
				}
			}
		}
		for _, k := range kinds {
			if !had[k.name] {
				t.Errorf("seeds %d to %d never %s", first, first+19, k.name)
			}
		}
		if skewed == 0 {
			t.Errorf("seeds %d to %d have no wrong clock", first, first+19)
		}
	}
}

// TestTolerance: where nothing breaks that excuses it, nothing is excused.
func TestTolerance(t *testing.T) {
	of := func(names ...string) load {
		p := &plan{length: time.Minute}
		for _, f := range faults() {
			for _, name := range names {
				if f.name == name {
					p.events = append(p.events, &event{fault: f, lasts: time.Second})
				}
			}
		}
		if len(p.events) != len(names) {
			t.Fatalf("no such faults: %v", names)
		}
		return loadOf(p)
	}
	if l := of(killPlanner, "pause planner", "kill apiserver", "pause apiserver"); l.maxDuplicates != 0 || l.maxUnanswered != 0 || l.stateLost || l.clockSkew != 0 {
		t.Errorf("planners and API servers excuse %+v", l)
	}
	if l := of("kill worker", "pause worker"); l.maxDuplicates != 2*workers*concurrency || l.maxUnanswered != concurrency || l.stateLost {
		t.Errorf("workers excuse %+v", l)
	}
	if l := of("target hangs"); l.maxDuplicates != 0 || l.maxUnanswered == 0 || l.stateLost {
		t.Errorf("targets excuse %+v", l)
	}
	if l := of("flush redis"); !l.stateLost || l.maxUnanswered != 0 {
		t.Errorf("a flushed redis excuses %+v", l)
	}
}

// TestRecovery: how long a killed planner is missed is counted from its death, and
// held to a bound; what is too often performed is a violation too.
func TestRecovery(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	run := func(arrived float64, performed int) *result {
		e := &event{fault: processFaults()[0], who: "planner1", beganAt: at(0), endedAt: at(3)}
		r := new(result)
		r.Report.MostPerformed = performed
		r.Report.Slow = []slow{{"j", at(1), at(arrived)}, {"busy", at(20), at(21)}}
		r.judge(&plan{events: []*event{e}})
		return r
	}
	if r := run(4.5, 1); !r.ok() || time.Duration(r.Faults[0].Recovery) != 4500*time.Millisecond {
		t.Errorf("late until 4.5 s: %+v", r)
	}
	if r := run(5.5, 1); r.count("recovery") != 1 {
		t.Errorf("late until 5.5 s: %+v", r)
	}
	if r := run(1.4, 1); !r.ok() || r.Faults[0].Recovery != 0 {
		t.Errorf("hardly late: %+v", r)
	}
	// One that overlaps with another ends when that does.
	cut := &event{fault: networkFaults()[0], who: "a-b", beganAt: at(0), endedAt: at(2)}
	other := &event{fault: networkFaults()[0], who: "a-b", beganAt: at(1), endedAt: at(4)}
	r := run(4.5, 1)
	r.Faults = nil
	r.judge(&plan{events: []*event{cut, other}})
	if got := time.Duration(r.Faults[0].Recovery); got != 500*time.Millisecond {
		t.Errorf("late for %v after the last of two", got)
	}
	if r := run(1.4, 2); r.count("performed too often") != 1 {
		t.Errorf("performed twice without a crash: %+v", r)
	}
}

// TestCalledWrongly: a mistake is said, and nothing is done.
func TestCalledWrongly(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"more"}, {"-runs", "0"}, {"-nonsense"}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit %d, says %q", args, code, stderr.String())
		}
	}
}
