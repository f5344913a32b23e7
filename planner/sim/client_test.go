package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"
)

const collections = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/"

// A customer has one job, and asks for one thing after another. It repeats what
// it had no answer to, until it has one.
type customer struct {
	w          *world
	rng        *rand.Rand
	api        *role
	collection string
	name       string
	version    int
	requests   int
	ops        []string
}

// ask sends a request until it is answered, and returns the answer's status.
func (c *customer) ask(verb, path, body string) int {
	c.requests++
	id := c.requestID()
	asked := time.Now()
	if verb == http.MethodDelete {
		c.w.book.mu.Lock()
		c.w.book.deletes[c.name] = asked
		c.w.book.mu.Unlock()
	}
	for {
		p := c.api.current()
		h := p.handler()
		if h == nil || p.err() != nil || c.w.book.isBlind() { // see doc.go
			if !c.pause(63 * grid) {
				return 0
			}
			continue
		}
		if strings.HasSuffix(path, "/run") && c.w.book.lostSince(asked) { // see doc.go
			c.requests++
			id = c.requestID()
			asked = time.Now()
		}
		k := new(call)
		r := httptest.NewRequestWithContext(context.WithValue(context.Background(), callKey{}, k), verb, path+"?api-version=2016-03-01", strings.NewReader(body))
		r.Header.Set("X-Ms-Client-Request-Id", id)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		c.w.tell(c.name, "asks", verb+" "+path[strings.LastIndex(path, "/"):], "")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if p.err() != nil || rec.Code >= http.StatusInternalServerError {
			c.w.tell(c.name, "has no answer", fmt.Sprint(rec.Code), "")
			if rec.Code == http.StatusInternalServerError && p.err() == nil {
				c.w.tell(c.name, "internal error", "", rec.Body.String())
			}
			if !c.pause(125 * grid) { // longer than anything is on its way
				return 0
			}
			continue
		}
		refusal := ""
		if rec.Code == http.StatusConflict {
			refusal = rec.Body.String()
		}
		c.w.tell(c.name, "is answered", fmt.Sprint(rec.Code), refusal)
		if rec.Code == http.StatusBadRequest && !strings.Contains(body, `{"state":`) { // its endTime may have passed
			c.w.book.blame("simulation: %s %s: %s", verb, body, rec.Body)
		}
		if rec.Code < 300 {
			c.noteAck(verb, path, k, asked)
		}
		return rec.Code
	}
}

func (c *customer) requestID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", draw(c.w.seed, c.name, 0)&0xffffffff, c.requests)
}

func (c *customer) noteAck(verb, path string, k *call, asked time.Time) {
	a := ack{verb: verb, name: c.name, asked: asked, given: time.Now()}
	if strings.HasSuffix(path, "/run") {
		a.verb = "run"
	}
	if e := k.entry; e != nil {
		a.uid, a.revision = e.UID, e.Revision
		if e.Run != nil {
			a.tag = e.Run.Tag
		}
	}
	c.w.book.mu.Lock()
	defer c.w.book.mu.Unlock()
	c.w.book.acks = append(c.w.book.acks, a)
}

func (c *customer) pause(d time.Duration) bool { return sleep(context.Background(), c.w.net, d) }

func (c *customer) path() string { return collections + c.collection + "/jobs/" + c.name }

// live asks for all that the customer wants.
func (c *customer) live() {
	c.pause(time.Duration(c.rng.IntN(400)) * grid)
	c.put()
	for _, op := range c.ops {
		c.pause(time.Duration(40+c.rng.IntN(600)) * grid)
		status := 0
		switch op {
		case "put":
			c.put()
			continue
		case "delete":
			status = c.ask(http.MethodDelete, c.path(), "")
		case "run":
			status = c.ask(http.MethodPost, c.path()+"/run", "")
		case "disable", "enable":
			status = c.patch(map[string]any{"state": op + "d"})
		case "schedule":
			status = c.patch(c.schedule())
		case "action":
			status = c.patch(map[string]any{"action": c.action()})
		}
		if status == http.StatusNotFound && op != "delete" && c.rng.IntN(2) == 0 {
			c.put()
		}
	}
}

func (c *customer) put() {
	properties := c.schedule()
	properties["action"] = c.action()
	if c.rng.IntN(12) == 0 {
		properties["state"] = "disabled"
	}
	c.ask(http.MethodPut, c.path(), document(properties))
}

func (c *customer) patch(properties map[string]any) int {
	return c.ask(http.MethodPatch, c.path(), document(properties))
}

func document(properties map[string]any) string {
	b, err := json.Marshal(map[string]any{"properties": properties})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// schedule returns one that was never asked for before, and ends in time.
func (c *customer) schedule() map[string]any {
	c.version++
	s := map[string]any{"startTime": nil, "recurrence": nil}
	now := time.Now().UTC()
	if c.rng.IntN(3) > 0 {
		start := now.Add(time.Duration(c.rng.IntN(4000)-500) * time.Millisecond).Truncate(100 * time.Millisecond).Add(time.Duration(c.version) * time.Millisecond)
		s["startTime"] = start.Format("2006-01-02T15:04:05.000Z")
	}
	if c.rng.IntN(5) == 0 {
		return s
	}
	r := map[string]any{"frequency": "second", "interval": 1 + c.rng.IntN(3), "count": nil, "endTime": nil}
	switch c.rng.IntN(10) {
	case 0: // so far away that history would not tell
		r["frequency"], r["interval"], r["count"] = "month", 2, 3
	case 1, 2, 3:
		r["endTime"] = now.Add(time.Duration(8000+c.rng.IntN(12000)) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	default:
		r["count"] = 1 + c.rng.IntN(8)
	}
	s["recurrence"] = r
	return s
}

// action returns one that was never asked for before.
func (c *customer) action() map[string]any {
	c.version++
	a := c.request("")
	if c.rng.IntN(3) == 0 {
		a["errorAction"] = c.request("/error")
	} else {
		a["errorAction"] = nil
	}
	return a
}

func (c *customer) request(what string) map[string]any {
	moods := []string{"good", "good", "good", "flaky", "flaky", "busy", "bad"}
	uri := fmt.Sprintf("http://target.example/%s/%d%s/%s", c.name, c.version, what, moods[c.rng.IntN(len(moods))])
	retry := map[string]any{"retryType": "none"}
	if c.rng.IntN(3) > 0 {
		retry = map[string]any{"retryType": "fixed", "retryInterval": fmt.Sprintf("PT%dS", 1+c.rng.IntN(3)), "retryCount": 1 + c.rng.IntN(2)}
	}
	return map[string]any{"type": "http", "request": map[string]any{"uri": uri, "method": "GET"}, "retryPolicy": retry}
}

func sorted(seq iter.Seq[string]) []string { return slices.Sorted(seq) }

func (r *role) current() *proc {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}
