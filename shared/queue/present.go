package queue

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// Present reports for each of some sequences that Dispatch returned whether the
// dispatch is still there: waiting for a worker, or with one. It blocks for two
// or three round trips, and for more if the answers for some cannot be told from
// the state of the stream as a whole.
func (q *Queue) Present(ctx context.Context, sequences []uint64) ([]bool, error) {
	there := make([]bool, len(sequences))
	if len(sequences) == 0 {
		return there, nil
	}
	v, err := q.view(ctx)
	if err != nil {
		return nil, wrap("look for dispatches", err)
	}
	var ask []int
	for i, s := range sequences {
		known := false
		if there[i], known = v.present(s); !known {
			ask = append(ask, i)
		}
	}
	err = parallel(len(ask), func(k int) error {
		m, err := q.get(ctx, dispatches, selection{Sequence: sequences[ask[k]]})
		there[ask[k]] = m != nil
		return err
	})
	if err != nil {
		return nil, wrap("look for dispatches", err)
	}
	return there, nil
}

// view is what streams and consumers say of themselves.
type view struct {
	first, last uint64 // of the stream; last is first-1 if it is empty
	whole       bool   // nothing between first and last was taken out
	fresh       uint64 // everything from here to last is there, whole or not
}

// present reports whether a message is there, if that is known.
func (v *view) present(sequence uint64) (there, known bool) {
	switch {
	case sequence == 0 || sequence < v.first || sequence > v.last:
		return false, true
	case v.whole || sequence >= v.fresh:
		return true, true
	}
	return false, false
}

// view looks at the dispatches. What has never been delivered to a worker is
// all there, if the consumer counts as many as there are sequences: somebody may
// have purged some. It counted before the stream was asked for its end, so
// counts that agree agree for a moment in between; those of a stream that is
// being published to may not, and are taken a few times.
func (q *Queue) view(ctx context.Context) (*view, error) {
	var v *view
	for range 3 {
		var delivered, pending uint64
		err := q.ask(ctx, func(ctx context.Context) error {
			c, err := q.js.Consumer(ctx, dispatches, workers)
			if err == nil {
				delivered, pending = c.CachedInfo().Delivered.Stream, c.CachedInfo().NumPending
			}
			return err
		})
		if err != nil {
			q.log.DebugContext(ctx, "the workers' consumer does not answer", "err", err)
		}
		stream, err := q.info(ctx, dispatches)
		if err != nil {
			return nil, err
		}
		v = viewOf(stream.State, delivered, pending)
		if v.whole || v.fresh <= v.last {
			break
		}
	}
	return v, nil
}

// viewOf returns the view of a stream, of whose messages a consumer has had
// those up to delivered, and pending are still to come. Zeros: nothing is known
// of the consumer.
func viewOf(s jetstream.StreamState, delivered, pending uint64) *view {
	v := &view{first: s.FirstSeq, last: s.LastSeq, fresh: s.LastSeq + 1}
	v.whole = s.Msgs == s.LastSeq+1-s.FirstSeq
	if s.LastSeq == delivered+pending {
		v.fresh = delivered + 1
	}
	return v
}

// atOnce is how many requests are under way at once.
const atOnce = 16

// parallel calls f with 0 to n-1, several at once, and blocks until all have
// returned. It returns one of the errors.
func parallel(n int, f func(i int) error) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		i := next
		next++
		return i, i < n && first == nil
	}
	for range min(n, atOnce) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := f(i); err != nil {
					mu.Lock()
					first = err
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
