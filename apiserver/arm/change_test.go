package arm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The tests of this file are named after the rules at the type change.

const (
	disabledHourly = `{"properties":{"action":{"type":"http","request":{"uri":"http://example.com/","method":"GET"}},"recurrence":{"frequency":"hour"},"state":"disabled"}}`
	once           = `{"properties":{"action":{"type":"http","request":{"uri":"http://example.com/","method":"GET"}}}}`
)

// wrote returns the newest write of a job.
func (b *bench) wrote() job.Write { return b.store.wrote[len(b.store.wrote)-1] }

// ran makes the job j as it is after n occurrences on its grid.
func (b *bench) ran(n int64) (last time.Time) {
	b.change(func(j *job.Job) {
		last = j.Anchor.Add(time.Duration(n-1) * time.Hour)
		j.Status.LastAt, j.Status.LastExecutionAt = last, last
		j.Status.Planned, j.Status.Executions = n, n
		j.Status.NextExecutionAt = last.Add(time.Hour)
	})
	return last
}

func TestANewJob(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	b.pass(300 * time.Microsecond)
	now := b.pass(0).Truncate(time.Millisecond).Add(time.Millisecond)
	b.want(b.do("PUT", strings.ToLower(jc)+"/jobs/J", hourly), 201)
	w := b.wrote()
	j := *w.Job
	if len(j.UID) != 32 || strings.Trim(j.UID, "0123456789abcdef") != "" {
		t.Errorf("uid %q", j.UID)
	}
	want := job.Job{
		UID: j.UID, Revision: 1, CollectionUID: w.Collection.UID, Ref: job.Ref{CollectionRef: ref(), Job: "J"}, Definition: j.Definition,
		CreatedAt: now, UpdatedAt: now, Series: 1, SeriesAt: now, Anchor: now, ActiveFrom: now,
		Status: job.Status{State: job.Enabled, NextExecutionAt: now},
	}
	if diff := cmp.Diff(want, j); diff != "" {
		t.Error(diff)
	}
	if !w.Reschedule || !w.NextAt.Equal(now) || w.Was != nil || w.MaxJobs != 50 {
		t.Errorf("write %+v", w)
	}
	if e := b.last(); e.Shard == 0 || e.UID != j.UID || e.Revision != 1 || e.Shard != ref().Shard(shards) || e.Job == nil {
		t.Errorf("journal %+v", e)
	}
}

func TestANewJobWithAStartTime(t *testing.T) {
	for start, want := range map[string]string{
		"2030-01-02T10:00:00.1234567Z": "2030-01-02T10:00:00.124Z", // in whole milliseconds, never early
		"2029-12-31T23:30:00Z":         "2030-01-02T03:30:00Z",     // first of the grid from now on
	} {
		b := newBench(t).with(collectionBody, "")
		b.want(b.do("PUT", one, strings.Replace(hourly, `{"action"`, `{"startTime":"`+start+`","action"`, 1)), 201)
		if got := b.wrote().NextAt.Format(time.RFC3339Nano); got != want {
			t.Errorf("start %s: next %s, want %s", start, got, want)
		}
		if b.wrote().Job.Anchor.Before(b.wrote().Job.StartAt) {
			t.Error("the anchor lies before startTime")
		}
	}
}

func TestANewJobThatIsDisabled(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	r := b.want(b.do("PUT", one, disabledHourly), 201)
	w := b.wrote()
	if !w.NextAt.IsZero() || !w.Job.Anchor.IsZero() || !w.Job.ActiveFrom.IsZero() || w.Job.Status.State != job.Disabled || strings.Contains(r.body, `"status"`) {
		t.Errorf("write %+v\nanswer %s", w, r.body)
	}
	now := b.pass(time.Hour)
	r = b.want(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 200)
	w = b.wrote()
	if w.NextAt != now || w.Job.Anchor != now || w.Job.ActiveFrom != now || !w.Reschedule || w.Job.Series != 1 || !strings.Contains(r.body, `"nextExecutionTime":"2030-01-02T04:04:05Z"`) {
		t.Errorf("enabled: %+v\nanswer %s", w, r.body)
	}
}

func TestAJobInADisabledOrSuspendedCollectionIsAccepted(t *testing.T) {
	for _, state := range []string{"Disabled", "Suspended"} {
		b := newBench(t).with(`{"location":"westus","properties":{"state":"`+state+`"}}`, hourly)
		if !strings.Contains(b.do("GET", jc, "").body, `"state":"`+state+`"`) {
			t.Errorf("%s does not stick", state)
		}
		b.refused(b.do("POST", one+"/run", ""), 409, CodeConflict, state)
	}
}

func TestAPUTThatChangesAnythingButTheStateBeginsANewSeries(t *testing.T) {
	for name, body := range map[string]string{
		"action":     strings.Replace(hourly, "example.com", "other", 1),
		"policy":     strings.Replace(hourly, `{"action"`, `{"policy":{"overlap":"skip"},"action"`, 1),
		"recurrence": strings.Replace(hourly, `"hour"`, `"day"`, 1),
		"startTime":  strings.Replace(hourly, `{"action"`, `{"startTime":"2030-01-01T00:04:05Z","action"`, 1),
		"and state":  strings.Replace(strings.Replace(hourly, "GET", "PUT", 1), `{"action"`, `{"state":"disabled","action"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).with(collectionBody, hourly)
			was := b.stored()
			b.ran(3)
			now := b.pass(150 * time.Minute)
			b.want(b.do("PUT", one, body), 200)
			j := b.wrote().Job
			if j.UID != was.UID || j.Revision != 2 || j.Series != 2 || j.SeriesAt != now || j.Status.Planned != 0 || j.Status.Executions != 3 || j.CreatedAt != was.CreatedAt || j.UpdatedAt != now {
				t.Errorf("job %+v", j)
			}
			wantAnchor, wantNext := now, now
			switch name {
			case "startTime":
				wantAnchor, wantNext = j.StartAt, time.Date(2030, 1, 2, 6, 4, 5, 0, time.UTC)
			case "and state":
				wantAnchor, wantNext = time.Time{}, time.Time{}
			}
			if w := b.wrote(); !w.Reschedule || w.NextAt != wantNext || j.Anchor != wantAnchor {
				t.Errorf("next %v, want %v; anchor %v, want %v", w.NextAt, wantNext, j.Anchor, wantAnchor)
			}
		})
	}
}

func TestASeriesBeginsAfterWhatWasPlannedWhateverTheClockSays(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	ahead := b.store.now.Add(time.Minute)
	b.change(func(j *job.Job) { j.Status.LastAt = ahead })
	b.want(b.do("PUT", one, strings.Replace(hourly, "GET", "PUT", 1)), 200)
	if w := b.wrote(); w.Job.SeriesAt != ahead.Add(time.Millisecond) || !w.NextAt.After(ahead) {
		t.Errorf("series %v, next %v, planned %v", w.Job.SeriesAt, w.NextAt, ahead)
	}
}

func TestAPATCHBeginsASeriesOnlyIfItChangesStartTimeOrRecurrence(t *testing.T) {
	for patch, series := range map[string]int64{
		`{"properties":{"recurrence":{"interval":2}}}`:                             2,
		`{"properties":{"recurrence":null}}`:                                       2,
		`{"properties":{"startTime":"2030-01-01T00:00:00Z"}}`:                      2,
		`{"properties":{"action":{"request":{"uri":"http://other/"}}}}`:            1,
		`{"properties":{"action":{"retryPolicy":{"retryType":"none"}}}}`:           1,
		`{"properties":{"policy":{"missed":"all","overlap":"queue"}}}`:             1,
		`{"properties":{"policy":{}}}`:                                             0,
		`{"properties":{"recurrence":{"interval":"1","Frequency":"HOUR"}}}`:        0, // nothing new
		`{"properties":{"action":{"request":{"method":"PUT"}},"state":"enabled"}}`: 1,
	} {
		t.Run(patch, func(t *testing.T) {
			b := newBench(t).with(collectionBody, hourly)
			b.ran(3)
			writes := b.store.writes
			b.want(b.do("PATCH", one, patch), 200)
			j := b.stored()
			if series == 0 {
				if j.Revision != 1 || b.store.writes != writes {
					t.Errorf("revision %d after a PATCH that changes nothing", j.Revision)
				}
				return
			}
			w := b.wrote()
			if j.Series != series || w.Reschedule != (series == 2) || j.Revision != 2 {
				t.Errorf("series %d, reschedule %v, revision %d", j.Series, w.Reschedule, j.Revision)
			}
			if series == 1 && (j.Status.Planned != 3 || j.Anchor != w.Was.Anchor || j.Status.NextExecutionAt.IsZero()) {
				t.Errorf("progress is lost: %+v", j)
			}
		})
	}
}

func TestDisablingTakesAwayTheNextExecutionAndEnablingMakesNothingUp(t *testing.T) {
	for _, method := range []string{"PATCH", "PUT"} {
		b := newBench(t).with(collectionBody, hourly)
		last := b.ran(3)
		switchTo := func(state, put string) {
			body := `{"properties":{"state":"` + state + `"}}`
			if method == "PUT" {
				body = put
			}
			b.want(b.do(method, one, body), 200)
		}
		switchTo("disabled", disabledHourly)
		w := b.wrote()
		if !w.Reschedule || !w.NextAt.IsZero() || w.Job.Series != 1 || w.Job.Status.Planned != 3 || w.Job.Status.State != job.Disabled || w.Job.Status.LastAt != last {
			t.Errorf("%s disabled: %+v", method, w)
		}
		now := b.pass(10*time.Hour + time.Minute)
		switchTo("enabled", hourly)
		w = b.wrote()
		// The grid is that of before; the first occurrence from now on.
		if want := w.Job.Anchor.Add(11 * time.Hour); !w.Reschedule || w.NextAt != want || w.Job.ActiveFrom != now || w.Job.Series != 1 || w.Job.Anchor != w.Was.Anchor {
			t.Errorf("%s enabled: next %v, want %v: %+v", method, w.NextAt, want, w.Job)
		}
	}
}

func TestEnablingAJobWithNothingLeftCompletesIt(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		planned int64
		pass    time.Duration
	}{
		"count is used up":      {strings.Replace(hourly, `"hour"`, `"hour","count":3`, 1), 3, time.Hour},
		"endTime has passed":    {strings.Replace(hourly, `"hour"`, `"hour","endTime":"2030-01-03"`, 1), 3, 48 * time.Hour},
		"its one time was then": {strings.Replace(once, `{"action"`, `{"startTime":"2030-01-02T12:00:00Z","action"`, 1), 0, 24 * time.Hour},
		"it ran once":           {once, 1, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).with(collectionBody, c.body)
			if c.planned > 0 {
				b.ran(c.planned)
			}
			b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
			b.pass(c.pass)
			r := b.want(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 200)
			w := b.wrote()
			if w.Job.Status.State != job.Completed || w.Job.State != job.Enabled || !w.NextAt.IsZero() || !w.Reschedule || !strings.Contains(r.body, `"state":"completed"`) {
				t.Errorf("%+v\nanswer %s", w, r.body)
			}
			b.refused(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 409, CodeConflict)
		})
	}
}

func TestCountLeavesAsManyAsWereNotPlanned(t *testing.T) {
	b := newBench(t).with(collectionBody, strings.Replace(hourly, `"hour"`, `"hour","count":4`, 1))
	b.ran(3)
	b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
	b.pass(5 * time.Hour)
	b.want(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 200)
	if w := b.wrote(); w.NextAt.IsZero() || w.Job.Status.State != job.Enabled {
		t.Errorf("%+v", w)
	}
}

func TestWhatChangesNothingIsJournaledAgain(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.ran(2)
	b.pass(time.Hour)
	// As a client sends it, as it was answered, and in other words.
	for _, body := range []string{hourly, b.do("GET", one, "").body, strings.Replace(hourly, `"hour"`, `"Hour","interval":"1"`, 1)} {
		writes, entries := b.store.writes, len(b.journal.entries)
		b.want(b.do("PUT", one, body), 200)
		j := b.stored()
		if j.Revision != 1 || b.store.writes != writes || j.Status.Planned != 2 {
			t.Errorf("%s: revision %d", body, j.Revision)
		}
		if e := b.last(); len(b.journal.entries) != entries+1 || e.Revision != 1 || e.Job == nil || e.UID != j.UID {
			t.Errorf("journal %+v", e)
		}
	}
	times := strings.NewReplacer(`{"action"`, `{"startTime":"2030-02-01T00:00Z","action"`, `"hour"`, `"hour","endTime":"2030-03-01"`).Replace(hourly)
	b.want(b.do("PUT", one, times), 200)
	b.want(b.do("PUT", one, strings.NewReplacer("2030-02-01T00:00Z", "2030-02-01T02:00:00+02:00", "2030-03-01", "2030-02-28T23:00:00.000-01:00").Replace(times)), 200)
	if j := b.stored(); j.Revision != 2 {
		t.Errorf("revision %d after a PUT of the same times", j.Revision)
	}
	writes := b.store.writes
	b.want(b.do("PUT", jc, collectionBody), 201)
	b.want(b.do("PATCH", jc, `{}`), 200)
	b.want(b.do("POST", jc+"/enable", ""), 200)
	if e := b.last(); b.store.writes != writes || e.Collection == nil || e.Revision != 1 {
		t.Errorf("collection: journal %+v", e)
	}
}

func TestTimesAreJudgedWhenTheyAreGiven(t *testing.T) {
	b := newBench(t).with(collectionBody, strings.Replace(hourly, `"hour"`, `"hour","endTime":"2030-01-03"`, 1))
	b.pass(48 * time.Hour)
	b.want(b.do("PATCH", one, `{"properties":{"action":{"request":{"method":"PUT"}}}}`), 200)
	b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
	b.refused(b.do("PATCH", one, `{"properties":{"recurrence":{"interval":2}}}`), 400, CodeBadRequest, "endTime")
}

func TestAJobMustNotGrowTooLargePatchByPatch(t *testing.T) {
	b := newBench(t)
	wide := strings.Repeat("\u4e2d", 5300) // 15,900 bytes
	b.with(collectionBody, strings.Replace(hourly, `"method"`, `"body":"`+wide+`","method"`, 1))
	b.refused(b.do("PATCH", one, `{"properties":{"action":{"request":{"headers":{"a":"`+strings.Repeat("x", 1000)+`"}}}}}`), 400, CodeBadRequest, "16384")
	b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
}

func TestWhatWasLetInMayBeDisabled(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.api.cfg.Ceilings.Fastest = 24 * time.Hour // the operator changed his mind
	b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
	b.refused(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 409, CodeConflict)
}
