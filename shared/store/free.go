package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// staleClaim is after how long a claim without its collection is anybody's.
const staleClaim = 10 * time.Second

// claimFree claims the one Free collection of a subscription for c.
func (s *Store) claimFree(ctx context.Context, c *job.Collection) error {
	sub, mine := strings.ToLower(c.Subscription), c.Key()+"\x00"+millis(s.Now())
	have := ""
	for range 5 {
		now, err := freeScript.Run(ctx, s.rdb, []string{freeKey}, sub, have, mine).Text()
		if err != nil {
			return fmt.Errorf("claim free collection: %w", err)
		}
		i := strings.LastIndexByte(now, 0)
		if i < 0 {
			have = now // given back meanwhile
			continue
		}
		key, age := now[:i], s.Now().Sub(instant(now[i+1:]))
		if now == mine || key == c.Key() && age < staleClaim/2 {
			return nil
		}
		if key != c.Key() {
			first := splitKey(key)
			if age < staleClaim {
				return secondFree(first)
			}
			holder, err := s.collections(ctx, []job.CollectionRef{first})
			if err != nil {
				return err
			}
			if len(holder) == 1 && holder[0].SKU == job.Free {
				return secondFree(holder[0].CollectionRef)
			}
		}
		// Its collection is no more, or never came to be: take it over. Or it is
		// ours and grows old: nobody shall take it over now.
		have = now
	}
	return fmt.Errorf("claim free collection: %w", job.ErrChanged)
}

func secondFree(first job.CollectionRef) error {
	return job.Conflict("A subscription may have one Free job collection, and it has '%s' in resource group '%s'.", first.Collection, first.ResourceGroup)
}

// dropFree gives c's claim back. If it cannot, the claim is stale and will be
// taken over.
func (s *Store) dropFree(ctx context.Context, c *job.Collection) {
	sub := strings.ToLower(c.Subscription)
	have, err := s.rdb.HGet(ctx, freeKey, sub).Result()
	if err == nil && strings.HasPrefix(have, c.Key()+"\x00") {
		_ = freeScript.Run(ctx, s.rdb, []string{freeKey}, sub, have, "").Err()
	}
}
