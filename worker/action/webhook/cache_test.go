package webhook

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// newTestCache returns a cache of names and the list of those that it dropped.
func newTestCache(size int) (c *cache[string], dropped func() []string) {
	var mu sync.Mutex
	var list []string
	c = &cache[string]{size: size, idle: time.Minute, drop: func(name string) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, name)
	}}
	return c, func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// take uses a name and reports whether it was made for that.
func take(c *cache[string], name string) (made bool, done func()) {
	_, done = c.use(digest(name), func() string { made = true; return name })
	return made, done
}

func wantDropped(t *testing.T, dropped func() []string, want ...string) {
	t.Helper()
	if got := dropped(); !slices.Equal(got, want) {
		t.Errorf("dropped %q, want %q", got, want)
	}
}

func TestCacheDropsTheOneLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, dropped := newTestCache(2)
		for _, name := range []string{"a", "b", "a", "c"} {
			_, done := take(c, name)
			done()
		}
		wantDropped(t, dropped, "b")
		if made, done := take(c, "a"); made {
			t.Error("a was dropped")
		} else {
			done()
		}
		c.close()
	})
}

func TestCacheDropsWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, dropped := newTestCache(9)
		_, doneA := take(c, "a")
		doneA()
		time.Sleep(40 * time.Second)
		_, doneB := take(c, "b")
		doneB()
		_, doneC := take(c, "c")
		time.Sleep(20*time.Second - 1)
		wantDropped(t, dropped)
		time.Sleep(time.Nanosecond)
		wantDropped(t, dropped, "a")
		time.Sleep(40 * time.Second)
		wantDropped(t, dropped, "a", "b")
		time.Sleep(time.Hour) // c is in use
		wantDropped(t, dropped, "a", "b")
		doneC()
		time.Sleep(time.Minute)
		wantDropped(t, dropped, "a", "b", "c")
		if len(c.entries) != 0 {
			t.Errorf("%d entries", len(c.entries))
		}
	})
}

func TestCacheKeepsWhatIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, dropped := newTestCache(1)
		_, doneA := take(c, "a")
		madeAgain, doneAgain := take(c, "a")
		_, doneB := take(c, "b")
		if madeAgain {
			t.Error("a was made twice")
		}
		wantDropped(t, dropped) // though it is one too many
		doneA()
		wantDropped(t, dropped) // still used once
		doneAgain()
		wantDropped(t, dropped, "a")
		doneB()
		wantDropped(t, dropped, "a")
		_, doneB = take(c, "b")
		c.close()
		wantDropped(t, dropped, "a")
		doneB()
		wantDropped(t, dropped, "a", "b")
		_, doneD := take(c, "d") // after its end it keeps nothing
		doneD()
		wantDropped(t, dropped, "a", "b", "d")
	})
}

func TestCacheByMany(t *testing.T) {
	var made, dropped atomic.Int64
	c := &cache[string]{size: 3, idle: time.Millisecond, drop: func(string) { dropped.Add(1) }}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 500 {
				name := fmt.Sprint((n * (i + 1)) % 7)
				value, done := c.use(digest(name), func() string { made.Add(1); return name })
				if value != name {
					t.Errorf("%s for %s", value, name)
				}
				done()
			}
		})
	}
	wg.Wait()
	c.close()
	if made.Load() != dropped.Load() || made.Load() < 7 {
		t.Errorf("made %d, dropped %d", made.Load(), dropped.Load())
	}
}

func TestDigestTellsTextsApart(t *testing.T) {
	seen := map[hash]bool{}
	for _, texts := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {}} {
		if h := digest(texts...); seen[h] {
			t.Errorf("%q is not told apart", texts)
		} else {
			seen[h] = true
		}
	}
}
