package sim_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// far is when what waits is not waited for.
const far = 24 * time.Hour

// undone says what is still to be done, or nothing.
func (w *world) undone() string {
	var left []string
	w.broker.mu.Lock()
	defer w.broker.mu.Unlock()
	for _, m := range w.broker.dispatch.list {
		left = append(left, "dispatch "+m.id)
	}
	horizon := float64(w.redisNow().Add(far).UnixMilli())
	for shard := range w.shards {
		key := func(kind string) string { return fmt.Sprintf("carillon:{s%d}:%s", shard, kind) }
		for _, kind := range []string{"due", "runs"} {
			set, _ := w.redis.SortedSet(key(kind))
			for _, id := range sortedKeys(set) {
				if set[id] < horizon {
					left = append(left, kind+" "+id)
				}
			}
		}
		state := key("state")
		if w.redis.HGet(state, "ready") != "1" {
			left = append(left, "shard "+strconv.Itoa(shard)+" to be ready")
		}
		if at, _ := strconv.ParseUint(w.redis.HGet(state, "seq"), 10, 64); at < w.broker.history.end(shard) {
			left = append(left, "records of shard "+strconv.Itoa(shard))
		}
	}
	return strings.Join(left, ", ")
}
