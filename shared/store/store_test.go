package store_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/store"
	"github.com/carillon-scheduler/carillon/shared/store/storetest"
)

// everywhere runs a test on every kind of Redis there is.
func everywhere(t *testing.T, test func(*testing.T, redis.UniversalClient)) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) { test(t, b.start(t)) })
	}
}

func TestStore(t *testing.T) {
	everywhere(t, func(t *testing.T, rdb redis.UniversalClient) {
		storetest.Exercise(t, func(t *testing.T) storetest.Store { return open(t, rdb) })
	})
}

func TestOpen(t *testing.T) {
	everywhere(t, func(t *testing.T, rdb redis.UniversalClient) {
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
