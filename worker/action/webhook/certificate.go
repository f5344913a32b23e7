package webhook

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pfx"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// How many certificates are kept opened, with connections of their own, and for
// how long after a job last used one. Opening one takes milliseconds at least
// and may take seconds; a job that runs more seldom than that can wait for it.
const (
	maxCertificates = 256
	certificateIdle = 10 * time.Minute
)

// certificates opens the certificates of jobs and keeps a client for each.
type certificates struct {
	client  *outbound.Client
	clients cache[*opening]
	open    func(file, password string) (*pfx.Identity, error) // pfx.Open, save in tests
	working sync.WaitGroup
}

func newCertificates(client *outbound.Client) *certificates {
	return &certificates{
		client: client, open: pfx.Open,
		clients: cache[*opening]{size: maxCertificates, idle: certificateIdle, drop: (*opening).drop},
	}
}

// An opening is a PFX file that is opened, or will be when ready is closed. That
// it cannot be opened is kept like what it holds: it costs as much to find out.
type opening struct {
	ready     chan struct{}
	client    *outbound.Client
	expiresAt time.Time
	err       error
}

// use returns a client that presents auth's certificate, and what must be called
// when the call is over. It blocks until the file is opened or ctx is done.
func (c *certificates) use(ctx context.Context, auth *job.Authentication) (*outbound.Client, func(), error) {
	file, password := string(auth.PFX), string(auth.Password)
	o, done := c.clients.use(digest(file, password), func() *opening {
		o := &opening{ready: make(chan struct{})}
		c.working.Go(func() {
			defer close(o.ready)
			o.fill(c, file, password)
		})
		return o
	})
	select {
	case <-o.ready:
	case <-ctx.Done():
		done()
		return nil, nil, context.Cause(ctx)
	}
	err := o.err
	if err == nil && time.Now().After(o.expiresAt) {
		err = certificateFault("it expired at " + o.expiresAt.UTC().Format(time.RFC3339))
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return o.client, done, nil
}

func (o *opening) fill(c *certificates, file, password string) {
	id, err := c.open(file, password)
	if err != nil {
		o.err = certificateFault(unopened(err))
		return
	}
	certificate := tls.Certificate{PrivateKey: id.Key, Leaf: id.Leaf()}
	for _, link := range id.Chain {
		certificate.Certificate = append(certificate.Certificate, link.Raw)
	}
	o.expiresAt = id.Leaf().NotAfter
	o.client = c.client.WithCertificate(certificate)
}

// drop closes the connections of a certificate that nobody uses any more.
func (o *opening) drop() {
	select {
	case <-o.ready:
		if o.client != nil {
			o.client.CloseIdle()
		}
	default: // nothing was called yet
	}
}

// close waits for what is being opened and closes what is open.
func (c *certificates) close() {
	c.working.Wait()
	c.clients.close()
}

func certificateFault(why string) error {
	return refusalError("ClientCertificate The job's certificate cannot be presented: " + why + ".")
}

// unopened says why a PFX file cannot be opened, in words without anything of
// the file.
func unopened(err error) string {
	switch {
	case errors.Is(err, pfx.ErrPassword):
		return "the password does not open its PFX file"
	case errors.Is(err, pfx.ErrCostly):
		return "its PFX file asks for too many iterations to derive a key"
	case errors.Is(err, pfx.ErrKey):
		return "its PFX file has no private key that can sign"
	case errors.Is(err, pfx.ErrCertificate):
		return "its PFX file has no certificate of its private key"
	}
	return "its PFX file cannot be read"
}

// digest returns a hash of texts that tells them apart.
func digest(texts ...string) hash {
	h := sha256.New()
	for _, s := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hash(h.Sum(nil))
}
