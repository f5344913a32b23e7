package sim_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// patience is how many seeds of its plan a mutant may pass unnoticed.
const patience = 100

// TestJudgeSees shows that the simulation can fail: with each fault built into
// what planners, workers and API servers work with, the judge says of one of the
// first seeds that the invariant does not hold which that fault breaks.
func TestJudgeSees(t *testing.T) {
	var mu sync.Mutex
	left := sortedKeys(mutants)
	each(t, func(t *testing.T) {
		for {
			mu.Lock()
			if len(left) == 0 {
				mu.Unlock()
				return
			}
			mutant := left[0]
			left = left[1:]
			mu.Unlock()
			if seed, saw := unmask(t, mutant); seed == 0 {
				t.Errorf("%s: not seen in %d seeds, where %s should have been broken", mutant, patience, mutants[mutant].broken)
			} else {
				t.Logf("%s: seed %d: %s", mutant, seed, saw)
			}
		}
	})
}

// unmask returns the first seed of which the judge sees a mutant, and what it
// says; 0 if it does not.
func unmask(t *testing.T, mutant string) (seed uint64, saw string) {
	m := mutants[mutant]
	p := slices.IndexFunc(plans, func(p plan) bool { return p.name == m.plan })
	for i := range uint64(patience) {
		seed := (i+1)*uint64(len(plans)) + uint64(p)
		v := simulate(t, seed, mutant)
		for _, s := range v.wrong {
			broken, _, _ := strings.Cut(s, ":")
			if slices.Contains(m.broken, broken) {
				first, _, _ := strings.Cut(s, "\n")
				return seed, first
			}
		}
	}
	return 0, ""
}
