package verify

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// TestDeletedMeanwhile: a DELETE that is not answered may be carried out at any
// time, even just before it is sent again. Sent once, it has to find the job.
func TestDeletedMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name       string
		unanswered int
		want       outcome
	}{{"sent again", 1, acknowledged}, {"sent once", 0, refused}} {
		t.Run(tt.name, func(t *testing.T) {
			left := tt.unanswered
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodGet:
					w.Header().Set("ETag", `"1"`)
					_, _ = w.Write([]byte(`{"properties":{"state":"enabled"}}`))
				case left > 0:
					left--
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer srv.Close()
			api, err := client.New(client.Config{BaseURL: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer api.CloseIdle()
			s := &session{api: api, target: newTarget("r"), ledger: &ledger{switches: make(map[string][]change)}, slots: make(chan struct{}, 1)}
			a := &actor{session: s, canary: &canary{job: "j"}, ref: client.Ref{Collection: "c"}, life: s.ledger.add(&life{collection: "c", job: "j"})}
			a.step(t.Context(), &step{kind: deleted})
			if got := a.life.changes[0].outcome; got != tt.want {
				t.Errorf("it is %q, want %q", got, tt.want)
			}
		})
	}
}
