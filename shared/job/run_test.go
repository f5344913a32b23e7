package job_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestTags(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{32}$`)
	tags := map[string]string{
		"occurrence":          job.Tag("u1", at(now)),
		"another job's":       job.Tag("u2", at(now)),
		"a millisecond later": job.Tag("u1", at(now).Add(time.Millisecond)),
		"run":                 job.RunTag("u1", "r1"),
		"another request":     job.RunTag("u1", "r2"),
		"another job's run":   job.RunTag("u2", "r1"),
		"request like a time": job.RunTag("u1", "1778051289500"),
	}
	seen := make(map[string]string)
	for name, tag := range tags {
		if !form.MatchString(tag) {
			t.Errorf("%s: tag %q is not 32 lower hex digits", name, tag)
		}
		if other, ok := seen[tag]; ok {
			t.Errorf("%s and %s have the same tag", name, other)
		}
		seen[tag] = name
	}
	if job.Tag("u1", at(now)) != job.Tag("u1", at("2026-05-06T09:08:09.5+02:00")) {
		t.Error("the same instant in another zone has another tag")
	}
	// The tag is an idempotency key in the hands of others: it never changes.
	const uid = "0123456789abcdef0123456789abcdef"
	if got := job.Tag(uid, time.UnixMilli(1_800_000_000_000)); got != "0b3ce233613611f3f7fe30420386b0a6" {
		t.Errorf("tag of an occurrence is %s", got)
	}
	if got := job.RunTag(uid, "r1"); got != "d57b38fea8b0a6c4e44a38cb5ad60fda" {
		t.Errorf("tag of a run is %s", got)
	}
}

func TestDispatchID(t *testing.T) {
	d := job.Dispatch{Attempt: job.Attempt{Run: job.Run{Tag: "tag", Phase: job.MainAction}}}
	ids := map[string]bool{d.ID(): true}
	if d.ID() != "tag/MainAction/0/0" {
		t.Errorf("id is %s", d.ID())
	}
	for _, change := range []func(*job.Dispatch){
		func(d *job.Dispatch) { d.Tag = "other" },
		func(d *job.Dispatch) { d.Phase = job.ErrorAction },
		func(d *job.Dispatch) { d.RetryCount = 1 },
		func(d *job.Dispatch) { d.Resend = 1 },
	} {
		e := d
		change(&e)
		if ids[e.ID()] {
			t.Errorf("id %s is taken", e.ID())
		}
		ids[e.ID()] = true
	}
	same := d
	same.Skipped, same.Action = 7, job.Action{Type: job.HTTP}
	if same.ID() != d.ID() {
		t.Error("what an attempt carries changes its id")
	}
}

// What a result repeats of its attempt is what history has to say later.
func TestResultKeepsItsAttempt(t *testing.T) {
	want := job.Result{
		Attempt: job.Attempt{
			Run:   job.Run{Tag: "t", UID: "u", Revision: 3, At: at(now), Repeat: 9, Manual: true, Phase: job.ErrorAction, RetryCount: 2},
			Shard: 5, Ref: job.Ref{CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "g", Collection: "c"}, Job: "j"},
			Location: "West US", DueAt: at("2026-05-06T08:00:00Z"), Retries: 4, Interval: time.Minute, Fallback: true,
			Planned: job.Planned{Series: 2, Count: 9, NextAt: at("2026-05-07T00:00:00Z"), Counters: job.Counters{Executions: 8, Failures: 7, Faults: 6}},
		},
		Performance: "p", StartedAt: at(now), EndedAt: at(now), Outcome: job.Postponed, Message: "m", RetryAfter: time.Hour, Missed: 4,
		From: at(now), Waiting: []time.Time{at("2026-05-06T08:00:00Z")},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got job.Result
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// Workers are not told of missed occurrences: a dispatch is about one.
func TestDispatchHidesSkipped(t *testing.T) {
	b, err := json.Marshal(job.Dispatch{Skipped: 12345})
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile("12345").Match(b) {
		t.Errorf("dispatch says what was skipped: %s", b)
	}
}
