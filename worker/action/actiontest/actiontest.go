// Package actiontest is the one suite that every action passes: what a worker
// may rely on whatever the action's type, and what no action may ever let out.
package actiontest

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// A Mood is what an attempt meets at its target.
type Mood string

// The moods of a target.
const (
	Willing     Mood = "willing"     // accepts
	Refusing    Mood = "refusing"    // answers, and refuses: wrong secret, nothing of that name
	Unreachable Mood = "unreachable" // nobody listens
	Hanging     Mood = "hanging"     // accepts the connection and says nothing any more
	Breaking    Mood = "breaking"    // closes the connection in the middle
	Busy        Mood = "busy"        // asks to come back later
	Forbidden   Mood = "forbidden"   // is at an address that workers never call
)

// Timeout is how long the actions of a Rig may take. Without a target that
// answers they must end soon after it.
const Timeout = time.Second

// patience is how much later than it must an action may end on a busy machine.
const patience = 10 * time.Second

// A Rig is an action with targets in every mood.
type Rig struct {
	// Action ends after [Timeout].
	Action action.Action
	// Dispatch returns an attempt that meets a target in a mood, the first of
	// those that its policy allows, with two more allowed. Each call returns
	// another attempt.
	Dispatch func(t *testing.T, m Mood) *job.Dispatch
	// Delivered counts what the willing target has accepted.
	Delivered func() int
	// Secrets are those of the attempts. They are long enough to be in a text by
	// no accident.
	Secrets []string
	// Prefix is how every message begins: "Http Action - ".
	Prefix string
	// NeverBusy says that such a target has no way to ask for patience.
	NeverBusy bool
}

// Run runs the suite.
func Run(t *testing.T, r Rig) {
	t.Run("a willing target", func(t *testing.T) {
		before := r.Delivered()
		r.want(t.Context(), t, r.Dispatch(t, Willing), job.Succeeded)
		if n := r.Delivered() - before; n != 1 {
			t.Errorf("delivered %d times", n)
		}
	})
	for _, m := range []Mood{Refusing, Unreachable, Breaking, Forbidden} {
		t.Run("a target that is "+string(m), func(t *testing.T) {
			before := r.Delivered()
			r.want(t.Context(), t, r.Dispatch(t, m), job.Failed)
			if n := r.Delivered() - before; n != 0 {
				t.Errorf("delivered %d times", n)
			}
		})
	}
	t.Run("a target that hangs", func(t *testing.T) {
		start := time.Now()
		got := r.want(t.Context(), t, r.Dispatch(t, Hanging), job.Failed)
		if took := time.Since(start); took > Timeout+patience {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(got.Message, "Timeout The operation has timed out") {
			t.Errorf("message %q does not say that time was up", got.Message)
		}
	})
	t.Run("a worker that shuts down", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(Timeout/4, func() { cancel(errors.New("shut down")) })
		defer stop.Stop()
		start := time.Now()
		r.want(ctx, t, r.Dispatch(t, Hanging), job.Failed)
		if took := time.Since(start); took > Timeout/4+patience {
			t.Errorf("took %v", took)
		}
		// What is cancelled before it begins does not begin.
		before := r.Delivered()
		r.want(ctx, t, r.Dispatch(t, Willing), job.Failed)
		if n := r.Delivered() - before; n != 0 {
			t.Errorf("delivered %d times", n)
		}
	})
	t.Run("a target that is busy", func(t *testing.T) {
		if r.NeverBusy {
			return
		}
		d := r.Dispatch(t, Busy)
		r.want(t.Context(), t, d, job.Postponed)
		d.RetryCount = d.Retries // the last attempt cannot be put off
		r.want(t.Context(), t, d, job.Failed)
	})
	t.Run("a target that is well again", func(t *testing.T) {
		r.want(t.Context(), t, r.Dispatch(t, Willing), job.Succeeded)
	})
	t.Run("many at once", func(t *testing.T) {
		const each = 8
		before := r.Delivered()
		var wg sync.WaitGroup
		for range each {
			good, bad := r.Dispatch(t, Willing), r.Dispatch(t, Refusing)
			wg.Go(func() { r.want(t.Context(), t, good, job.Succeeded) })
			wg.Go(func() { r.want(t.Context(), t, bad, job.Failed) })
		}
		wg.Wait()
		if n := r.Delivered() - before; n != each {
			t.Errorf("delivered %d of %d", n, each)
		}
	})
	t.Run("a definition without its part", func(t *testing.T) {
		d := r.Dispatch(t, Willing)
		d.Action = job.Action{Type: d.Action.Type}
		r.want(t.Context(), t, d, job.Failed)
	})
}

// want performs d and checks its outcome and what must hold of every report.
func (r *Rig) want(ctx context.Context, t *testing.T, d *job.Dispatch, want job.Outcome) action.Report {
	t.Helper()
	got := r.Action.Do(ctx, d)
	if got.Outcome != want {
		t.Errorf("outcome %s, want %s: %s", got.Outcome, want, got.Message)
	}
	if got.Outcome != job.Postponed && got.RetryAfter != 0 || got.RetryAfter < 0 {
		t.Errorf("%s asks to wait %v", got.Outcome, got.RetryAfter)
	}
	if !utf8.ValidString(got.Message) || len(utf16.Encode([]rune(got.Message))) > action.MaxMessage {
		t.Errorf("message is not UTF-8 or too long: %q", got.Message)
	}
	// AZURE §5, what PowerShell's parser needs: the action's words, a quoted name.
	if !strings.HasPrefix(got.Message, r.Prefix) || strings.Count(got.Message, "'") < 2 {
		t.Errorf("PowerShell does not know this message: %q", got.Message)
	}
	for _, secret := range r.Secrets {
		for _, form := range Forms(secret) {
			if strings.Contains(got.Message, form) {
				t.Errorf("secret in message: %q", got.Message)
			}
		}
	}
	return got
}

// Forms returns a secret in the forms in which it might slip into a text or a
// file: as it is, escaped for a URL or JSON, in hex, and in base64 wherever it
// begins.
func Forms(secret string) []string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(secret)
	forms := []string{secret, quoted, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			text := encoding.EncodeToString(append(make([]byte, offset), secret...))
			// What depends on the neighbours is left out at both ends.
			from, to := (offset*8+5)/6, len(text)-1
			if to-from >= 8 {
				forms = append(forms, text[from:to])
			}
		}
	}
	return forms
}
