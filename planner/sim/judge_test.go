package sim_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A tale is all that happened of one occurrence.
type tale struct {
	tag, uid string
	rows     []job.Record // of its attempts, as history has them
	missed   int64        // occurrences before it that were not made up
	perfs    []*perf
	end      job.Outcome // of the run; empty: it has not ended
	faulted  bool        // its main action failed for good
	begun    bool        // an attempt was made
}

// judge holds what happened against what must always hold (DESIGN.md §4).
func (w *world) judge() {
	tales := w.tales()
	for _, t := range tales {
		w.judgeEnd(t)
		w.judgeRetries(t)
		w.judgePerformances(t)
	}
	for _, f := range w.book.perfs {
		w.judgeStart(f)
	}
	told := make(map[string]*tale)
	for _, t := range tales {
		told[t.tag] = t
	}
	w.judgePlans(told)
	w.judgeAnswers(told)
	for _, uid := range w.book.jobs() {
		var own []*tale
		for _, t := range tales {
			if t.uid == uid {
				own = append(own, t)
			}
		}
		w.judgeSeries(uid, own)
		w.judgeGaps(uid, own)
		w.judgeCounters(uid, own)
	}
}

// tales returns the tales of all occurrences of which anything is known but
// that they were planned.
func (w *world) tales() []*tale {
	byTag := make(map[string]*tale)
	var list []*tale
	of := func(r *job.Run) *tale {
		t := byTag[r.Tag]
		if t == nil {
			t = &tale{tag: r.Tag, uid: r.UID}
			byTag[r.Tag], list = t, append(list, t)
		}
		return t
	}
	for _, r := range records(w.broker.history.list) {
		switch t := of(&r.Run); {
		case r.Missed > 0:
			t.missed = r.Missed
		default:
			t.rows = append(t.rows, r)
		}
	}
	for _, f := range w.book.perfs {
		t := of(&f.Run)
		t.perfs = append(t.perfs, f)
	}
	return list
}

func (t *tale) String() string {
	s := "occurrence " + t.tag + " of " + t.uid + ":"
	for i := range t.rows {
		r := &t.rows[i]
		s += fmt.Sprintf("\n\t%s %s/%d %s, due %s, from %s to %s", r.Job, r.Phase, r.RetryCount, r.Outcome, clock(r.DueAt), clock(r.StartedAt), clock(r.EndedAt))
	}
	return s
}

func clock(t time.Time) string { return t.UTC().Format("05.000") }

// judgeEnd: an occurrence ends exactly one way, each attempt follows from the
// one before, and each performance has its row. Nobody can ask any more what
// became of a job that was deleted.
func (w *world) judgeEnd(t *tale) {
	phase, retry := job.MainAction, 0
	been := make(map[string]bool)
	for i := range t.rows {
		r := &t.rows[i]
		id := attemptOf(&r.Attempt)
		if been[id] {
			continue // performed again
		}
		if t.end != "" || r.Phase != phase || r.RetryCount != retry {
			w.book.blame("I2: %v\n\tit has a row that does not follow from those before", t)
			return
		}
		been[id] = true
		t.begun = t.begun || r.Outcome != job.Skipped
		switch {
		case r.Outcome == job.Succeeded || r.Outcome == job.Skipped:
			t.end = r.Outcome
		case r.RetryCount < r.Retries:
			retry++
		case r.Fallback && phase == job.MainAction:
			t.faulted, phase, retry = true, job.ErrorAction, 0
		default:
			t.end, t.faulted = job.Failed, true
		}
	}
	if t.end == "" && len(t.rows) > 0 && w.field(t.uid, "rev") > 0 && t.waitsUntil().Before(time.Now().Add(far)) {
		w.book.blame("I2: %v\n\tit has no end", t)
	}
	for _, f := range t.perfs {
		if !been[attemptOf(&f.Attempt)] {
			w.book.blame("I11: %v\n\tit has no row of %s, performed at %s", t, f.ID(), clock(f.start))
		}
	}
}

// waitsUntil is when a run that has not ended goes on.
func (t *tale) waitsUntil() time.Time {
	r := &t.rows[len(t.rows)-1]
	return r.EndedAt.Add(max(r.Interval, r.RetryAfter))
}

// judgeRetries: never more than asked for, never sooner.
func (w *world) judgeRetries(t *tale) {
	ended := make(map[string]*job.Record) // first row of each attempt
	for i := range t.rows {
		r := &t.rows[i]
		if id := attemptOf(&r.Attempt); ended[id] == nil {
			ended[id] = r
		}
	}
	for _, f := range t.perfs {
		if f.RetryCount == 0 {
			continue
		}
		before := f.Attempt
		before.RetryCount--
		r := ended[attemptOf(&before)]
		if r == nil {
			w.book.blame("I6: %v\n\tnobody knows why %s was performed", t, f.ID())
			continue
		}
		if f.RetryCount > r.Retries {
			w.book.blame("I6: %v\n\tof %d retries, this was number %d", t, r.Retries, f.RetryCount)
		}
		if gap, want := f.start.Sub(r.EndedAt), max(r.Interval, r.RetryAfter); gap < want-unsure {
			w.book.blame("I6: %v\n\t%s was performed after %v, not after %v", t, f.ID(), gap, want)
		}
	}
}

// unsure is how far a measured offset between two clocks may be off.
const unsure = 5 * time.Millisecond

// judgePerformances: an attempt is performed once, and once more for each
// trouble that its worker, or NATS, met meanwhile.
func (w *world) judgePerformances(t *tale) {
	for _, f := range t.perfs {
		if f.n == 0 {
			continue
		}
		most, first := 1, f
		for _, o := range t.perfs {
			if o.n < f.n && attemptOf(&o.Attempt) == attemptOf(&f.Attempt) {
				most += o.by.troubles(o.start, f.start)
				if o.n == 0 {
					first = o
				}
			}
		}
		for _, at := range w.book.shocks {
			if !at.After(f.start) && at.After(first.DueAt.Add(-time.Second)) {
				most++
			}
		}
		if first.by != f.by { // what it was given it may have slept on
			most += f.by.troubles(first.DueAt, f.start)
		}
		if f.n+1 > most {
			w.book.blame("I5: %v\n\t%s was performed %d times, with trouble for %d", t, f.ID(), f.n+1, most)
		}
	}
}

// troubles counts the deaths and naps of a process.
func (p *proc) troubles(from, to time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	if !p.died.IsZero() && !p.died.Before(from) && !p.died.After(to) {
		n++
	}
	for _, s := range p.naps {
		if s.to.After(from) && s.from.Before(to) {
			n++
		}
	}
	return n
}

// judgeStart: never early, with its own tag, and the action of its revision.
func (w *world) judgeStart(f *perf) {
	if early := f.DueAt.Sub(f.start.Add(max(0, w.ahead))); early > 0 {
		w.book.blame("I3: %s %s was performed %v early", f.Job, f.ID(), early)
	}
	if late := f.start.Add(min(0, w.ahead)).Sub(f.DueAt); late > 2*time.Second && w.plan.name == plans[0].name {
		w.book.blame("I4: %s %s was performed %v late, though nothing went wrong", f.Job, f.ID(), late)
	}
	if !f.Manual && f.Tag != job.Tag(f.UID, f.At) {
		w.book.blame("I5: %s %s has another tag than %s", f.Job, f.ID(), clock(f.At))
	}
	for _, p := range w.book.puts[f.UID] {
		a, _ := p.Action.In(f.Phase)
		known := p.Revision == f.Revision || p.Revision > f.Revision && w.book.lostBefore(f.start) // ARCHITECTURE.md, Rebuilding
		if known && a != nil && a.Request.URI == f.Action.Request.URI {
			return
		}
	}
	w.book.blame("I9: %s %s of revision %d was performed with %s", f.Job, f.ID(), f.Revision, f.Action.Request.URI)
}

// blind is how long planners may not see that Redis went back: until they renew
// their leases.
const blind = 2 * time.Second

func (b *book) lostBetween(from, to time.Time) bool {
	return slices.ContainsFunc(b.losses, func(t time.Time) bool { return t.After(from) && t.Before(to) })
}

func (b *book) lostBefore(t time.Time) bool { return len(b.losses) > 0 && b.losses[0].Before(t) }

// judgePlans: what was planned is told of. Redis may have lost what it had not
// given out.
func (w *world) judgePlans(told map[string]*tale) {
	for _, p := range w.book.plans {
		if t := told[p.tag]; (t == nil || len(t.rows) == 0) && !w.book.lostSince(p.when) {
			w.book.blame("I2: nothing is known of the occurrence %s of %s at %s, planned at %s by %s", p.tag, p.uid, clock(p.at), clock(p.when), p.by)
		}
		enabled := false
		for _, d := range w.book.puts[p.uid] {
			enabled = enabled || d.Revision == p.revision && d.State == job.Enabled
		}
		if !enabled {
			w.book.blame("I8: revision %d of %s was planned, which is not enabled", p.revision, p.uid)
		}
		for _, a := range w.book.acks {
			if a.uid == p.uid && a.revision > p.revision && a.given.Before(p.when) && !w.book.lostBetween(p.when.Add(-blind), p.when) {
				w.book.blame("I8: revision %d of %s was planned at %s, though revision %d had been acknowledged at %s", p.revision, p.uid, clock(p.when), a.revision, clock(a.given))
			}
		}
	}
}

// judgeAnswers: what was acknowledged is there.
func (w *world) judgeAnswers(told map[string]*tale) {
	last := make(map[string]*ack) // by name
	for i := range w.book.acks {
		a := &w.book.acks[i]
		if a.verb == "run" {
			// What Redis lost of a job that was deleted next is not brought back.
			gone := w.book.deletes[a.name].After(a.given) && w.book.lostSince(a.given)
			if t := told[a.tag]; !gone && (t == nil || t.end == "" && len(t.rows) == 0) {
				w.book.blame("I1: nothing is known of the run %s that %s asked for", a.tag, a.name)
			}
			continue
		}
		if a.name != "admin" && a.uid != "" && !w.book.lostBetween(a.asked, a.given) { // see doc.go
			last[a.name] = a
		}
	}
	for _, name := range sortedKeys(last) {
		a := last[name]
		revision := w.field(a.uid, "rev")
		if a.verb == "DELETE" {
			if revision != 0 {
				w.book.blame("I1: %s is there, though it was deleted", a.name)
			}
		} else if revision < a.revision && (revision != 0 || !w.book.deletes[a.name].After(a.given)) {
			w.book.blame("I1: of %s there is revision %d, though revision %d was acknowledged", a.name, revision, a.revision)
		}
	}
}

// field returns a number that Redis holds of a job, 0 if it does not.
func (w *world) field(uid, name string) int64 {
	n, _ := strconv.ParseInt(w.text(uid, name), 10, 64)
	return n
}

func (w *world) text(uid, name string) string {
	for shard := range w.shards {
		if key := fmt.Sprintf("carillon:{s%d}:job:%s", shard, uid); w.redis.Exists(key) {
			return w.redis.HGet(key, name)
		}
	}
	return ""
}

// judgeSeries: start, end and count hold.
func (w *world) judgeSeries(uid string, own []*tale) {
	series := make(map[int64]map[time.Time]bool)
	for _, t := range own {
		if len(t.rows) == 0 || t.rows[0].Manual {
			continue
		}
		r := &t.rows[0]
		var d *put
		for _, p := range w.book.puts[uid] {
			if p.Revision == r.Revision {
				d = p
			}
		}
		if d == nil {
			w.book.blame("I9: %v\n\tnobody wrote its revision %d", t, r.Revision)
			continue
		}
		if series[d.Series] == nil {
			series[d.Series] = make(map[time.Time]bool)
		}
		series[d.Series][r.At] = true
		if r.At.Before(d.StartAt) {
			w.book.blame("I7: %v\n\tit is of %s, before startTime", t, clock(r.At))
		}
		if d.Recurrence == nil {
			continue
		}
		if !d.Recurrence.EndAt.IsZero() && r.At.After(d.Recurrence.EndAt) {
			w.book.blame("I7: %v\n\tit is of %s, after endTime", t, clock(r.At))
		}
		if n := len(series[d.Series]); d.Recurrence.Count > 0 && n > d.Recurrence.Count {
			w.book.blame("I7: %v\n\tit is number %d of a series of %d", t, n, d.Recurrence.Count)
		}
	}
}

// judgeGaps: of a job that nobody changed, every occurrence is told of, as one
// that ran or one that was missed.
func (w *world) judgeGaps(uid string, own []*tale) {
	puts := w.book.puts[uid]
	d := puts[0]
	if len(puts) > 1 || w.plan.toggles || w.field(uid, "rev") != 1 || d.State != job.Enabled {
		return
	}
	own = slices.DeleteFunc(slices.Clone(own), func(t *tale) bool { return len(t.rows) == 0 || t.rows[0].Manual })
	slices.SortFunc(own, func(a, b *tale) int { return a.rows[0].At.Compare(b.rows[0].At) })
	table, err := job.NewTimetable(&d.Definition, d.Anchor)
	if err != nil {
		w.book.blame("simulation: %v", err)
		return
	}
	next := table.First(&d.Job, time.Time{}, time.Time{})
	for _, t := range own {
		for range t.missed {
			next = table.Next(next)
		}
		if at := t.rows[0].At; !at.Equal(next) {
			w.book.blame("I2: %v\n\tit is of %s; the next one was that of %s", t, clock(at), clock(next))
			return
		}
		if t.missed > 0 && w.plan.name == plans[0].name {
			w.book.blame("I2: %v\n\tbefore it, %d were missed, though nothing went wrong", t, t.missed)
		}
		next = table.Next(next)
	}
	done := d.Recurrence != nil && d.Recurrence.Count > 0 && len(own) == d.Recurrence.Count
	if !done && !next.IsZero() && next.Before(time.Now().Add(-time.Second)) {
		w.book.blame("I2: nothing is known of the occurrence at %s of %s, nor of any after it", clock(next), d.Job.Job)
	}
}

// judgeCounters: the counters equal the rows, and a job that has no more
// occurrences is at its end.
func (w *world) judgeCounters(uid string, own []*tale) {
	if w.field(uid, "rev") == 0 {
		return // deleted, or never made
	}
	var executions, failures, faults int64
	for _, t := range own {
		for i := range t.rows {
			if t.rows[i].Outcome == job.Failed {
				failures++
			}
		}
		if t.begun {
			executions++
		}
		if t.faulted {
			faults++
		}
	}
	have := fmt.Sprint(w.field(uid, "exec"), w.field(uid, "fail"), w.field(uid, "fault"))
	if want := fmt.Sprint(executions, failures, faults); have != want {
		w.book.blame("I11: %s (%s) counts executions, failures, faults %s; its rows say %s", w.book.puts[uid][0].Job.Job, uid, have, want)
	}
	if state := job.State(w.text(uid, "state")); state == job.Enabled && cmp.Or(w.text(uid, "next"), "0") == "0" {
		w.book.blame("I14: %s (%s) is enabled and has no next time", w.book.puts[uid][0].Job.Job, uid)
	}
}
