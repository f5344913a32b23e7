package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary is what came of all runs.
type summary struct {
	Runs []*result `json:"runs"`
	// Sums over all runs.
	Seeds       int               `json:"seeds"`
	Occurrences int               `json:"occurrences"`
	Lost        int               `json:"lost"`
	Early       int               `json:"early"`
	Violations  int               `json:"violations"` // lost and early ones too
	Duplicates  int               `json:"duplicates"` // performed again under the same tag
	Crashes     int               `json:"crashes"`
	Bad         []uint64          `json:"bad"` // seeds of runs with violations, or without a judgement
	Kinds       map[string]*tally `json:"kinds"`
}

// tally is what is known of a kind of fault.
type tally struct {
	Times    int     `json:"times"`
	Recovery seconds `json:"worstRecoverySeconds"`
}

func (s *summary) add(r *result) {
	s.Runs = append(s.Runs, r)
	s.Seeds++
	s.Occurrences += r.Report.Occurrences
	s.Lost += r.count("lost", "retry or error action missing")
	s.Early += r.count("early")
	s.Violations += len(r.Report.Violations)
	s.Duplicates += r.Report.Duplicates
	s.Crashes += r.Crashes
	if !r.ok() {
		s.Bad = append(s.Bad, r.Seed)
	}
	if s.Kinds == nil {
		s.Kinds = make(map[string]*tally)
	}
	for _, h := range r.Faults {
		t := s.Kinds[h.Fault]
		if t == nil {
			t = new(tally)
			s.Kinds[h.Fault] = t
		}
		t.Times++
		t.Recovery = max(t.Recovery, h.Recovery)
	}
}

func (s *summary) ok() bool { return len(s.Bad) == 0 && len(s.Runs) > 0 }

func (s *summary) write(w io.Writer, form string) error {
	if form == "json" {
		return writeJSON(w, s)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tTIMES\tWORST RECOVERY")
	for _, name := range slices.Sorted(maps.Keys(s.Kinds)) {
		fmt.Fprintf(t, "%s\t%d\t%.1fs\n", name, s.Kinds[name].Times, time.Duration(s.Kinds[name].Recovery).Seconds())
	}
	fmt.Fprintf(t, "\nSEEDS\tOCCURRENCES\tLOST\tEARLY\tVIOLATIONS\tDUPLICATES, SAME TAG\tCRASHES\n")
	fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", s.seeds(), s.Occurrences, s.Lost, s.Early, s.Violations, s.Duplicates, s.Crashes)
	for _, r := range s.Runs {
		if !r.ok() {
			fmt.Fprintf(t, "\nBAD: seed %d: %s\n", r.Seed, r.complaint())
		}
	}
	return t.Flush()
}

func (s *summary) seeds() string {
	if len(s.Runs) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%d to %d)", s.Seeds, s.Runs[0].Seed, s.Runs[len(s.Runs)-1].Seed)
}

// complaint says in a line what is bad about a run.
func (r *result) complaint() string {
	var list []string
	if r.Error != "" {
		list = append(list, r.Error)
	}
	kinds := make(map[string]int)
	for _, v := range r.Report.Violations {
		kinds[v.Kind]++
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		list = append(list, fmt.Sprintf("%d × %s", kinds[k], k))
	}
	return strings.Join(list, ", ") + "; logs in " + r.Logs
}

// mostShown is how many violations of a run are shown in full.
const mostShown = 10

// write says what came of a run.
func (r *result) write(w io.Writer) {
	fmt.Fprintf(w, "seed %d: %d occurrences, %d performed again (one at most %d times, %d crashes), %d unanswered, %d missed, %.0fs\n", r.Seed, r.Report.Occurrences,
		r.Report.Duplicates, r.Report.MostPerformed, r.Crashes, r.Report.Unanswered, r.Report.Missed, r.EndedAt.Sub(r.BeganAt).Seconds())
	for _, h := range r.Faults {
		if h.Recovery > 0 {
			fmt.Fprintf(w, "  %s %s: recovered after %.1fs\n", h.Fault, h.Who, time.Duration(h.Recovery).Seconds())
		}
	}
	if r.ok() {
		return
	}
	fmt.Fprintf(w, "  BAD: %s\n", r.complaint())
	for i, v := range r.Report.Violations {
		if i == mostShown {
			fmt.Fprintf(w, "  … and %d more\n", len(r.Report.Violations)-i)
			break
		}
		fmt.Fprintf(w, "  VIOLATION %s: %s (%s) at %s: %s\n", v.Kind, v.Job, v.Form, v.At.UTC().Format(clockForm), v.Detail)
	}
}

func writeJSON(w io.Writer, what any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(what)
}
