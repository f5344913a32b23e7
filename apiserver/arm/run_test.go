package arm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestRunIsOneExtraOccurrenceNow(t *testing.T) {
	b := newBench(t).with(collectionBody, strings.Replace(hourly, `{"action"`, `{"startTime":"2030-05-01","action"`, 1))
	before := b.stored()
	r := b.want(b.do("POST", one+"/run", ""), 200)
	now := b.store.now
	want := job.Pending{DueAt: now, Run: job.Run{
		Tag: job.RunTag(before.UID, r.header.Get("X-Ms-Request-Id")), UID: before.UID, Revision: 1, At: now, Repeat: 1, Manual: true, Phase: job.MainAction,
	}}
	if diff := cmp.Diff([]job.Pending{want}, b.store.runs); diff != "" {
		t.Error(diff)
	}
	e := b.last()
	if diff := cmp.Diff(job.Entry{Shard: ref().Shard(shards), UID: before.UID, Revision: 1, Run: &want}, e); diff != "" {
		t.Error(diff)
	}
	// The schedule is untouched.
	if diff := cmp.Diff(before, b.stored()); diff != "" {
		t.Error(diff)
	}
	b.want(b.do("POST", one+"/run", ""), 200)
	if len(b.store.runs) != 2 {
		t.Errorf("%d runs of two requests", len(b.store.runs))
	}
}

func TestRunIsAllowedWhileDisabled(t *testing.T) {
	b := newBench(t).with(collectionBody, disabledHourly)
	b.want(b.do("POST", one+"/run", ""), 200)
}

func TestARunRequestThatIsRepeatedIsOneRun(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	id := uuid.NewString()
	for range 3 {
		b.want(b.do("POST", one+"/run", "", "x-ms-client-request-id", strings.ToUpper(id)), 200)
	}
	if len(b.store.runs) != 1 || b.store.runs[0].Tag != job.RunTag(b.stored().UID, id) {
		t.Errorf("runs %+v", b.store.runs)
	}
	for range 2 { // no GUID: not new with each request, perhaps
		b.want(b.do("POST", one+"/run", "", "x-ms-client-request-id", "script"), 200)
		b.want(b.do("POST", one+"/run", "", "x-ms-client-request-id", uuid.Nil.String()), 200)
	}
	if len(b.store.runs) != 5 {
		t.Errorf("%d runs", len(b.store.runs))
	}
}
