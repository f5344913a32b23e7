package arm

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/carillon-scheduler/carillon/apiserver/wire"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// collection returns a collection that must exist.
func (a *API) collection(ctx context.Context, ref job.CollectionRef) (*job.Collection, error) {
	c, err := a.cfg.Store.Collection(ctx, ref)
	if errors.Is(err, job.ErrNotFound) {
		return nil, collectionNotFound(ref)
	}
	return c, err
}

func (a *API) getCollection(ctx context.Context, r *request) (*answer, error) {
	c, err := a.collection(ctx, r.ref.CollectionRef)
	if err != nil {
		return nil, err
	}
	return document(r, http.StatusOK, c.UID, c.Revision, wire.WriteCollection(c)), nil
}

// putCollection answers 201 for a collection that exists, too (recorded). A PUT
// without a sku is one of Standard, Azure's default; the location of a
// collection may change, since here it is only a name (our decisions).
func (a *API) putCollection(ctx context.Context, r *request) (*answer, error) {
	c, err := wire.ReadCollection(r.body)
	if err != nil {
		return nil, err
	}
	c.SKU, c.State = cmp.Or(c.SKU, job.Standard), cmp.Or(c.State, job.CollectionEnabled)
	return a.writeCollection(ctx, r, http.StatusCreated, func(*job.Collection) (job.Collection, error) { return c, nil })
}

func (a *API) patchCollection(ctx context.Context, r *request) (*answer, error) {
	return a.writeCollection(ctx, r, http.StatusOK, func(was *job.Collection) (job.Collection, error) {
		if was == nil {
			return job.Collection{}, collectionNotFound(r.ref.CollectionRef)
		}
		return wire.PatchCollection(*was, r.body)
	})
}

// switchCollection handles enable and disable, which answer nothing (recorded).
func (a *API) switchCollection(state job.CollectionState) handler {
	return func(ctx context.Context, r *request) (*answer, error) {
		_, err := a.writeCollection(ctx, r, http.StatusOK, func(was *job.Collection) (job.Collection, error) {
			if was == nil {
				return job.Collection{}, collectionNotFound(r.ref.CollectionRef)
			}
			c := *was
			c.State = state
			return c, nil
		})
		if err != nil {
			return nil, err
		}
		return done(), nil
	}
}

// writeCollection makes a collection what want makes of the present one, nil if
// there is none.
func (a *API) writeCollection(ctx context.Context, r *request, status int, want func(was *job.Collection) (job.Collection, error)) (*answer, error) {
	ref := r.ref.CollectionRef
	var written *job.Collection
	err := a.commit(ctx, ref.Key(), func() (job.Entry, error) {
		was, err := a.cfg.Store.Collection(ctx, ref)
		if errors.Is(err, job.ErrNotFound) {
			was, err = nil, nil
		}
		if err != nil {
			return job.Entry{}, err
		}
		c, err := want(was)
		if err != nil {
			return job.Entry{}, err
		}
		if written, err = a.applyCollection(ctx, r, was, &c); err != nil {
			return job.Entry{}, err
		}
		return job.Entry{Shard: ref.Shard(a.cfg.Shards), UID: written.UID, Revision: written.Revision, Collection: written}, nil
	})
	if err != nil {
		return nil, err
	}
	return document(r, status, written.UID, written.Revision, wire.WriteCollection(written)), nil
}

// applyCollection writes a collection to the store, unless it changes nothing,
// and returns it as it stands then. was is nil if there is none.
func (a *API) applyCollection(ctx context.Context, r *request, was, c *job.Collection) (*job.Collection, error) {
	now := a.now()
	if was == nil {
		if err := r.precondition("", 0); err != nil {
			return nil, err
		}
		identify(c, &job.Collection{CollectionRef: r.ref.CollectionRef, UID: newUID(), CreatedAt: now, ActiveFrom: now})
	} else {
		if err := r.precondition(was.UID, was.Revision); err != nil {
			return nil, err
		}
		identify(c, was)
		if same(was, c) {
			return was, nil
		}
		if c.State == job.CollectionEnabled && was.State != job.CollectionEnabled {
			c.ActiveFrom = now
		}
	}
	c.Revision++
	if err := c.Validate(a.cfg.Ceilings); err != nil {
		return nil, err
	}
	tighter := was != nil && a.tighter(was, c)
	if tighter {
		if err := a.fits(ctx, was, c); err != nil {
			return nil, err
		}
	}
	return c, a.cfg.Store.PutCollection(ctx, c, was, tighter)
}

// identify gives c what a request cannot change: names keep the case that they
// were created with (recorded).
func identify(c, was *job.Collection) {
	c.CollectionRef, c.UID, c.Revision = was.CollectionRef, was.UID, was.Revision
	c.CreatedAt, c.ActiveFrom = was.CreatedAt, was.ActiveFrom
	c.Jobs, c.Writes = was.Jobs, was.Writes
}

// deleteCollection takes the collection's jobs with it (Azure documentation).
func (a *API) deleteCollection(ctx context.Context, r *request) (*answer, error) {
	tried := false
	ref := r.ref.CollectionRef
	err := a.commit(ctx, ref.Key(), func() (job.Entry, error) {
		c, err := a.collection(ctx, ref)
		if err != nil {
			return job.Entry{}, err
		}
		return a.tombstone(&tried, r, c.UID, c.Revision, func() (job.Entry, error) {
			gone := new(*c)
			gone.Revision++
			return job.Entry{Shard: ref.Shard(a.cfg.Shards), UID: c.UID, Revision: gone.Revision, Collection: gone, Deleted: true}, a.cfg.Store.DeleteCollection(ctx, c)
		})
	})
	return a.deleted(ctx, ref.Key(), tried, err)
}

// listCollections lists those of a subscription or of a resource group. A page
// goes on behind a name and not at a number, since collections of all shards are
// merged for it: $skip is refused (our decision).
func (a *API) listCollections(ctx context.Context, r *request) (*answer, error) {
	skip, top, err := r.query.page(a.cfg.MaxPage)
	if err != nil {
		return nil, err
	}
	if skip != 0 {
		return nil, job.Invalid(paramSkip, "is not supported for job collections: follow nextLink")
	}
	if r.query[paramFilter] != "" {
		return nil, job.Invalid(paramFilter, "is not supported for job collections")
	}
	prefix := strings.ToLower(r.ref.Subscription) + "\x00"
	after := ""
	if token := r.query[paramSkipToken]; token != "" {
		b, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, job.Invalid(paramSkipToken, "must be one that a nextLink gave")
		}
		after = prefix + string(b)
	}
	list, err := a.cfg.Store.Collections(ctx, r.ref.Subscription, r.ref.ResourceGroup, after, top+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(list) > top {
		list = list[:top]
		last := strings.TrimPrefix(list[top-1].Key(), prefix)
		next = a.nextLink(r.http, paramSkipToken, base64.RawURLEncoding.EncodeToString([]byte(last)))
	}
	items := make([][]byte, len(list))
	for i, c := range list {
		items[i] = wire.WriteCollection(c)
	}
	return &answer{status: http.StatusOK, body: wire.WriteList(items, next)}, nil
}
