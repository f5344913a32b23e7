package store

import (
	"errors"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// AZURE.md §7: 200,000 collections a subscription.
func TestMostCollections(t *testing.T) {
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	t.Cleanup(func() { rdb.Close() })
	s := New(rdb, 2)
	for i := range mostCollections - 1 {
		srv.ZAdd(shard(i%2).collections(), 0, "full\x00g\x00"+strconv.Itoa(i))
	}
	for n := range 2 {
		srv.HSet(shard(n).state(), "ready", "1")
	}
	put := func(sub, name string) error {
		return s.PutCollection(t.Context(), &job.Collection{
			UID: name, Revision: 1, SKU: job.Standard,
			CollectionRef: job.CollectionRef{Subscription: sub, ResourceGroup: "g", Collection: name},
		}, nil, false)
	}
	if err := put("Full", "last"); err != nil {
		t.Error(err)
	}
	var conflict *job.ConflictError
	if err := put("FULL", "one-more"); !errors.As(err, &conflict) {
		t.Errorf("error = %v, want a conflict", err)
	}
	if err := put("fuller", "other"); err != nil {
		t.Error(err)
	}
}
