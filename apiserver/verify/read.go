package verify

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// worthReading returns the last lives of the jobs that a verdict waits for; of all
// if there is no verdict yet.
func (s *session) worthReading(v *verdict) []*life {
	all := s.ledger.last()
	if v == nil {
		return all
	}
	var list []*life
	jobs := v.waiting()
	for _, l := range all {
		if jobs[l.collection+"/"+l.job] {
			list = append(list, l)
		}
	}
	return list
}

// readJobs reads how jobs are, by listing them. It is only right when nothing
// happens to them any more.
func (s *session) readJobs(ctx context.Context, v *verdict) error {
	listed := make(map[string]map[string]*found) // by collection and job
	for _, l := range s.worthReading(v) {
		jobs := listed[l.collection]
		if jobs == nil {
			var err error
			if jobs, err = s.list(ctx, l.collection); err != nil {
				s.failed(err)
				return err
			}
			listed[l.collection] = jobs
		}
		s.ledger.setFound(l, jobs[l.collection+"/"+l.job])
	}
	return nil
}

// list reads a collection's jobs; none if there is no such collection.
func (s *session) list(ctx context.Context, collection string) (map[string]*found, error) {
	jobs := make(map[string]*found)
	for j, err := range s.api.Jobs(ctx, client.Ref{Collection: collection}, client.Query{}) {
		if client.StatusOf(err) == http.StatusNotFound {
			return jobs, nil
		}
		if err != nil {
			return nil, err
		}
		f := &found{state: j.Properties.State}
		if j.Properties.Action != nil && j.Properties.Action.Request != nil {
			f.uri = j.Properties.Action.Request.URI
		}
		if j.Properties.Status != nil {
			f.status = *j.Properties.Status
		}
		jobs[j.Name] = f
	}
	return jobs, nil
}

// readHistories reads what history says of the last life of jobs.
func (s *session) readHistories(ctx context.Context, v *verdict) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range s.worthReading(v) {
		g.Go(func() error {
			var read [2][]row
			for i, filter := range []string{"", "status eq 'Skipped'"} {
				rows, err := call(ctx, s, func(ctx context.Context) ([]row, error) { return s.history(ctx, l, filter) })
				if err != nil {
					s.failed(err)
					return err
				}
				read[i] = rows
			}
			s.ledger.setHistory(l, read[0], read[1])
			return nil
		})
	}
	return g.Wait()
}

// history reads a job's rows; none if there is no such job.
func (s *session) history(ctx context.Context, l *life, filter string) ([]row, error) {
	var rows []row
	for r, err := range s.api.History(ctx, client.Ref{Collection: l.collection}, l.job, client.Query{Filter: filter, Top: 100}) {
		if client.StatusOf(err) == http.StatusNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.Properties)
	}
	return rows, nil
}
