package arm

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// fakeStore holds every write against what was read, as Store says. What goes
// in and out is copied.
type fakeStore struct {
	mu          sync.Mutex
	now         time.Time
	collections map[string]*job.Collection    // by Key
	jobs        map[string]map[string]job.Job // by the collection's UID, then folded name
	runs        []job.Pending
	wrote       []job.Write // by PutJob
	writes      int         // all that succeeded
	err         error       // fails everything
	between     func()      // called once before the next write, as if by somebody else
}

func (s *fakeStore) lock() (unlock func()) { s.mu.Lock(); return s.mu.Unlock }

func (s *fakeStore) Now() time.Time { defer s.lock()(); return s.now }

func (s *fakeStore) write(stale func() bool, do func()) error {
	if between := s.takeBetween(); between != nil {
		between()
	}
	defer s.lock()()
	if s.err != nil {
		return s.err
	}
	if stale() {
		return job.ErrChanged
	}
	s.writes++
	do()
	return nil
}

func (s *fakeStore) takeBetween() func() {
	defer s.lock()()
	f := s.between
	s.between = nil
	return f
}

// is reports whether c stands there.
func (s *fakeStore) is(c *job.Collection) bool {
	have := s.collections[c.Key()]
	return have != nil && have.UID == c.UID && have.Revision == c.Revision
}

// has reports whether j stands there.
func (s *fakeStore) has(j *job.Job) bool {
	have := s.jobs[j.CollectionUID][job.FoldName(j.Job)]
	return have.UID == j.UID && have.Revision == j.Revision
}

func (s *fakeStore) Collection(_ context.Context, ref job.CollectionRef) (*job.Collection, error) {
	defer s.lock()()
	c, ok := s.collections[ref.Key()]
	switch {
	case s.err != nil:
		return nil, s.err
	case !ok:
		return nil, job.ErrNotFound
	}
	return new(*c), nil
}

func (s *fakeStore) Collections(_ context.Context, sub, group, after string, limit int) ([]*job.Collection, error) {
	defer s.lock()()
	var list []*job.Collection
	for key, c := range s.collections {
		if strings.EqualFold(c.Subscription, sub) && (group == "" || strings.EqualFold(c.ResourceGroup, group)) && key > after {
			list = append(list, new(*c))
		}
	}
	slices.SortFunc(list, func(a, b *job.Collection) int { return strings.Compare(a.Key(), b.Key()) })
	return list[:min(limit, len(list))], s.err
}

func (s *fakeStore) PutCollection(_ context.Context, c, was *job.Collection, exact bool) error {
	return s.write(func() bool {
		have := s.collections[c.Key()]
		return (was == nil) != (have == nil) || was != nil && (!s.is(was) || exact && was.Writes != have.Writes)
	}, func() {
		s.collections[c.Key()] = new(*c)
	})
}

func (s *fakeStore) DeleteCollection(_ context.Context, c *job.Collection) error {
	return s.write(func() bool { return !s.is(c) }, func() {
		delete(s.collections, c.Key())
		delete(s.jobs, c.UID)
	})
}

func (s *fakeStore) Job(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error) {
	c, err := s.Collection(ctx, ref.CollectionRef)
	if err != nil {
		return nil, nil, err
	}
	defer s.lock()()
	if j, ok := s.jobs[c.UID][job.FoldName(ref.Job)]; ok {
		return c, &j, nil
	}
	return c, nil, job.ErrNotFound
}

func (s *fakeStore) Jobs(_ context.Context, c *job.Collection, q job.Query) ([]*job.Job, bool, error) {
	defer s.lock()()
	var list []*job.Job
	for _, j := range s.jobs[c.UID] {
		if q.State == "" || j.Status.State == q.State {
			list = append(list, &j)
		}
	}
	slices.SortFunc(list, func(a, b *job.Job) int { return strings.Compare(job.FoldName(a.Job), job.FoldName(b.Job)) })
	list = list[min(q.Skip, len(list)):]
	return list[:min(q.Top, len(list))], len(list) > q.Top, s.err
}

func (s *fakeStore) PutJob(_ context.Context, w job.Write) error {
	full := false
	err := s.write(func() bool {
		have, ok := s.jobs[w.Collection.UID][job.FoldName(w.Job.Job)]
		full = !ok && len(s.jobs[w.Collection.UID]) >= w.MaxJobs
		return full || !s.is(w.Collection) || ok != (w.Was != nil) ||
			ok && (!s.has(w.Was) || w.Reschedule && have.Status.LastAt != w.Was.Status.LastAt)
	}, func() {
		c := s.collections[w.Collection.Key()]
		if s.jobs[c.UID] == nil {
			s.jobs[c.UID] = map[string]job.Job{}
		}
		s.jobs[c.UID][job.FoldName(w.Job.Job)] = *w.Job
		c.Writes++
		s.wrote = append(s.wrote, w)
	})
	if full {
		return job.Conflict("The job collection holds as many jobs as its quota allows.")
	}
	return err
}

func (s *fakeStore) DeleteJob(_ context.Context, c *job.Collection, j *job.Job) error {
	return s.write(func() bool { return !s.has(j) }, func() {
		delete(s.jobs[c.UID], job.FoldName(j.Job))
		s.collections[c.Key()].Writes++
	})
}

func (s *fakeStore) RunJob(_ context.Context, c *job.Collection, j *job.Job, r *job.Pending) error {
	return s.write(func() bool { return !s.is(c) || !s.has(j) }, func() {
		if !slices.ContainsFunc(s.runs, func(p job.Pending) bool { return p.Tag == r.Tag }) {
			s.runs = append(s.runs, *r)
		}
	})
}
