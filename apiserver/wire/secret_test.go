package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// secretsOf returns the secrets of a definition, one a line.
func secretsOf(d job.Definition) string {
	var secrets []string
	for _, a := range []*job.Action{&d.Action, d.Action.Error} {
		if a == nil {
			continue
		}
		if r := a.Request; r != nil && r.Authentication != nil {
			for _, s := range []job.Secret{r.Authentication.Password, r.Authentication.PFX, r.Authentication.Secret} {
				secrets = append(secrets, string(s))
			}
		}
		if a.Queue != nil {
			secrets = append(secrets, string(a.Queue.SASToken))
		}
		if a.Bus != nil {
			secrets = append(secrets, string(a.Bus.SASKey))
		}
	}
	return strings.Join(secrets, "\n")
}

// I12, and AZURE §2: "Secrets are absent from every answer, not null: password,
// pfx, secret, sasToken, sasKey." Whatever a job holds, set or not by its type,
// no secret's value and no secret's name is written.
func TestNoSecretIsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var canaries []string
	secret := func() job.Secret {
		s := fmt.Sprintf("canary-%d", r.Uint64())
		canaries = append(canaries, s)
		return job.Secret(s)
	}
	one := func() *job.Action {
		a := &job.Action{
			Type: job.ActionTypes()[r.IntN(5)],
			Request: &job.Request{URI: "http://h/", Method: "GET", Authentication: &job.Authentication{
				Type:     []job.AuthenticationType{job.Basic, job.ClientCertificate, job.ActiveDirectoryOAuth}[r.IntN(3)],
				Username: "u", Password: secret(), PFX: secret(), Secret: secret(), Thumbprint: "AB", ExpiresAt: time.Now(),
			}},
			Queue: &job.QueueMessage{StorageAccount: "acc", SASToken: secret()},
			Bus:   &job.ServiceBusMessage{Namespace: "n", AuthType: "sharedAccessKey", SASKeyName: "k", SASKey: secret()},
		}
		if r.IntN(3) == 0 {
			a.Bus.AuthType = "notSpecified"
		}
		return a
	}
	for range 500 {
		canaries = nil
		j := &job.Job{Definition: job.Definition{Action: *one(), State: job.Enabled}}
		j.Action.Error = one()
		written := string(WriteJob(j)) + string(WriteList([][]byte{WriteJob(j)}, ""))
		written += string(WriteRecord(&job.Record{Result: job.Result{Attempt: job.Attempt{Run: job.Run{UID: j.UID}}}}))
		for _, s := range append(canaries, `"password"`, `"pfx"`, `"secret"`, `"sasToken"`, `"sasKey"`) {
			if strings.Contains(written, s) {
				t.Fatalf("%s is written: %s", s, written)
			}
		}
	}
}
