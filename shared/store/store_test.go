package store_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
	"github.com/carillon-scheduler/carillon/shared/store/storetest"
)

// everywhere runs a test on every kind of Redis there is.
func everywhere(t *testing.T, test func(*testing.T, *redis.UniversalOptions)) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) { test(t, b.start(t)) })
	}
}

func TestStore(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		storetest.Exercise(t, func(t *testing.T) storetest.Store { return open(t, connect(t, o)) })
	})
}

func TestOpen(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		rdb := connect(t, o)
		open(t, rdb)
		if err := store.New(rdb, shards).Open(t.Context()); err != nil {
			t.Fatalf("Open again = %v", err)
		}
		err := store.New(rdb, shards+1).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), "shards 4, this process wants 5") {
			t.Errorf("Open with another number of shards = %v", err)
		}
		if err := rdb.HSet(t.Context(), "carillon:cluster", "layout", "0").Err(); err != nil {
			t.Fatal(err)
		}
		err = store.New(rdb, shards).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), "layout 0, this process wants 1") {
			t.Errorf("Open of another layout = %v", err)
		}
	})
}

// A claim outlives a create that failed, and a process that was killed.
func TestStaleClaim(t *testing.T) {
	const key = "carillon:free"
	ref := func(name string) string { return newCollection(name).Key() }
	free := func(name string) *job.Collection {
		c := newCollection(name)
		c.SKU = job.Free
		return c
	}
	for _, tt := range []struct {
		name  string
		claim string
		age   time.Duration
		taken bool // by another collection
	}{
		{"of a collection in the making", ref("absent"), 9 * time.Second, false},
		{"of one that never came to be", ref("absent"), 11 * time.Second, true},
		{"of one that is there", ref("free"), 11 * time.Second, false},
		{"of one that has another plan now", ref("c"), 11 * time.Second, true},
		{"of its own", ref("mine"), 11 * time.Second, true},
		{"that is no claim", "", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rdb := connect(t, standIn(t))
			f := newFixture(t, open(t, rdb))
			f.must(f.PutCollection(t.Context(), free("free"), nil, false))
			claim := tt.claim + "\x00" + strconv.FormatInt(f.Now().Add(-tt.age).UnixMilli(), 10)
			if tt.claim == "" {
				claim = ""
			}
			f.must(rdb.HSet(t.Context(), key, "s", claim).Err())
			err := f.PutCollection(t.Context(), free("mine"), nil, false)
			got, getErr := rdb.HGet(t.Context(), key, "s").Result()
			f.must(getErr)
			if tt.taken {
				f.must(err)
				if !strings.HasPrefix(got, ref("mine")+"\x00") || got == claim {
					t.Errorf("claim = %q", got)
				}
				return
			}
			if c, ok := errors.AsType[*job.ConflictError](err); !ok {
				t.Errorf("error = %v, want a conflict", err)
			} else if _, name, _ := strings.Cut(tt.claim, "g\x00"); !strings.Contains(c.Reason, "'"+name+"'") {
				t.Errorf("reason %q does not name %s", c.Reason, name)
			}
			if got != claim {
				t.Errorf("claim = %q, want %q", got, claim)
			}
		})
	}
}

// between does something once, just before a client's next command of a name.
type between struct {
	name string
	once sync.Once
	do   func()
}

func (b *between) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == b.name {
			b.once.Do(b.do)
		}
		return next(ctx, cmd)
	}
}

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == b.name {
			b.once.Do(b.do)
		}
		return next(ctx, cmds)
	}
}

// A page that is shorter than asked for is the last one.
func TestCollectionDeletedWhileListed(t *testing.T) {
	o := standIn(t)
	rdb := connect(t, o)
	s := open(t, connect(t, o))
	f := newFixture(t, s)
	for _, name := range []string{"a", "b", "d", "e"} {
		f.must(f.PutCollection(t.Context(), newCollection(name), nil, false))
	}
	rdb.AddHook(&between{name: "hmget", do: func() { f.must(s.DeleteCollection(t.Context(), newCollection("b"))) }})
	list, err := store.New(rdb, shards).Collections(t.Context(), "s", "", "", 4)
	f.must(err)
	var got []string
	for _, c := range list {
		got = append(got, c.Collection)
	}
	if diff := cmp.Diff([]string{"a", "c", "d", "e"}, got); diff != "" {
		t.Errorf("collections (-want +got):\n%s", diff)
	}
}

// A collection may be written while its journaled form is held against it.
func TestCollectionWrittenWhileRestored(t *testing.T) {
	for _, tt := range []struct {
		name    string
		written int64 // revision
		want    string
	}{{"older", 2, "restored"}, {"newer", 4, "written"}} {
		t.Run(tt.name, func(t *testing.T) {
			o := standIn(t)
			rdb := connect(t, o)
			s := open(t, connect(t, o))
			f := newFixture(t, s)
			revision := func(n int64, location string) *job.Collection {
				c := newCollection("c")
				c.Revision, c.Location = n, location
				return c
			}
			rdb.AddHook(&between{name: "evalsha", do: func() {
				f.must(s.PutCollection(t.Context(), revision(tt.written, "written"), f.collection, false))
			}})
			f.must(store.New(rdb, shards).RestoreCollection(t.Context(), f.lease, revision(3, "restored")))
			got, err := s.Collection(t.Context(), f.collection.CollectionRef)
			f.must(err)
			if got.Location != tt.want {
				t.Errorf("location = %s, want %s", got.Location, tt.want)
			}
		})
	}
}

func TestWakeOfClosedClient(t *testing.T) {
	rdb := connect(t, standIn(t))
	s := open(t, rdb)
	begun := make(chan int, 1)
	done := make(chan error)
	go func() { done <- s.Wake(t.Context(), func(n int) { begun <- n }) }()
	<-begun
	rdb.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("Wake returned nil though its context goes on")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Wake goes on")
	}
}

// TestNothingIsLeft checks that what was deleted leaves nothing in Redis that
// nobody will ever look at.
func TestNothingIsLeft(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		rdb := connect(t, o)
		f := newFixture(t, open(t, rdb))
		sh := "carillon:{s" + strconv.Itoa(f.lease.Shard) + "}:"
		now := time.UnixMilli(1_800_000_000_000)
		fields := func(want bool) {
			t.Helper()
			all, err := rdb.HKeys(t.Context(), sh+"job:"+f.job(0).UID).Result()
			f.must(err)
			if got := slices.Contains(all, "def:2") || slices.Contains(all, "old"); got != want {
				t.Errorf("an old definition is kept: %t, want %t", got, want)
			}
		}
		update := func(j *job.Job) *job.Job {
			t.Helper()
			next := *j
			next.Revision++
			f.must(f.PutJob(t.Context(), job.Write{Collection: f.collection, Was: j, Job: &next, MaxJobs: 9}))
			return &next
		}
		one := f.job(0)
		f.create(one, now)
		one = update(one)
		fields(false) // no run is active
		steps := f.steps([]*job.Job{one}, 0)
		f.plan(steps)
		one = update(one)
		fields(true)
		f.record(done(steps))
		fields(false)
		steps = f.steps([]*job.Job{one}, 1)
		steps[0].NextAt = time.Time{}
		f.plan(steps)
		f.record(done(steps)) // now it is final
		f.must(f.DeleteJob(t.Context(), f.collection, one))

		two := f.job(1)
		f.create(two, now)
		steps = f.steps([]*job.Job{two}, 0)
		f.plan(steps)
		f.must(f.DeleteCollection(t.Context(), f.collection))
		f.must(f.Clear(t.Context(), f.lease.Shard, two))
		f.record(done(steps))
		f.must(f.RestoreProgress(t.Context(), f.lease, job.Position{}, "absent", &job.Checkpoint{State: job.Completed, LastAt: now}))
		if _, err := f.Orphans(t.Context(), f.lease.Shard, 9); err != nil {
			t.Fatal(err)
		}

		got, err := rdb.Keys(t.Context(), sh+"*").Result()
		f.must(err)
		slices.Sort(got)
		if diff := cmp.Diff([]string{sh + "dead", sh + "lease", sh + "state"}, got); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
}
