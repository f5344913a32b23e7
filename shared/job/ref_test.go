package job_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func ref(sub, group, name string) job.CollectionRef {
	return job.CollectionRef{Subscription: sub, ResourceGroup: group, Collection: name}
}

func TestCollectionKey(t *testing.T) {
	if a, b := ref("SUB", "Group", "Jobs"), ref("sub", "gROUP", "jobs"); a.Key() != b.Key() {
		t.Errorf("keys of two spellings differ: %q, %q", a.Key(), b.Key())
	}
	var keys []string
	for _, r := range []job.CollectionRef{
		ref("s", "g", "a"), ref("s", "g", "a-b"), ref("s", "g", "b"), ref("s", "g-2", "a"), ref("s", "g2", "a"), ref("s2", "a", "a"),
	} {
		keys = append(keys, r.Key())
	}
	if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("keys are not sorted by subscription, group, name: %q", keys)
	}
}

func TestShardOfCollection(t *testing.T) {
	if a, b := ref("SUB", "Group", "Jobs").Shard(16), ref("sub", "gROUP", "jobs").Shard(16); a != b {
		t.Errorf("two spellings are in shards %d and %d", a, b)
	}
	counts := make([]int, 16)
	for i := range 1600 {
		n := ref("s", "g", fmt.Sprintf("jobs%d", i)).Shard(16)
		if n < 0 || n > 15 {
			t.Fatalf("shard %d of 16", n)
		}
		counts[n]++
	}
	if slices.Min(counts) < 50 || slices.Max(counts) > 200 {
		t.Errorf("shards are uneven: %v", counts)
	}
	// Where a collection's keys are must never change.
	var got []int
	for _, name := range []string{"a", "b", "jc1", "MyJobs"} {
		got = append(got, ref("12345678-1234-1234-1234-123456789012", "CS-EastUS", name).Shard(16))
	}
	if diff := cmp.Diff([]int{4, 13, 9, 3}, got); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
	if n := ref("s", "g", "c").Shard(1); n != 0 {
		t.Errorf("shard %d of 1", n)
	}
}

func TestIDs(t *testing.T) {
	r := job.Ref{CollectionRef: ref("Sub", "Group", "Jobs"), Job: "Nightly"}
	const want = "/subscriptions/Sub/resourceGroups/Group/providers/Microsoft.Scheduler/jobCollections/Jobs"
	if got := r.CollectionRef.ID(); got != want {
		t.Errorf("collection's id is %s", got)
	}
	if got := r.ID(); got != want+"/jobs/Nightly" {
		t.Errorf("job's id is %s", got)
	}
	if job.FoldName("Nightly-JOB_1") != "nightly-job_1" {
		t.Error("name is not folded")
	}
}
