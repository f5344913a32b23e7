package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/secret"
)

const hush = "correct horse battery staple"

// newAction returns an action with a secret in every place.
func newAction() *job.Action {
	one := func() *job.Action {
		return &job.Action{
			Request: &job.Request{Authentication: &job.Authentication{Password: hush, PFX: hush, Secret: hush}},
			Queue:   &job.QueueMessage{SASToken: hush},
			Bus:     &job.ServiceBusMessage{SASKey: hush},
		}
	}
	a := one()
	a.Error = one()
	return a
}

func newKeys(t *testing.T) (*secret.Keys, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := secret.Create(path); err != nil {
		t.Fatal(err)
	}
	return load(t, path), path
}

func load(t *testing.T, path string) *secret.Keys {
	t.Helper()
	k, err := secret.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t *testing.T, k *secret.Keys) *job.Action {
	t.Helper()
	a := newAction()
	if err := k.Seal(a, "uid"); err != nil {
		t.Fatal(err)
	}
	return a
}

// secrets returns the secrets of an action and its error action by their place.
func secrets(a *job.Action) map[string]string {
	m := make(map[string]string)
	a.Secrets(func(place string, s *job.Secret) { m[place] = string(*s) })
	if a.Error != nil {
		a.Error.Secrets(func(place string, s *job.Secret) { m["error "+place] = string(*s) })
	}
	return m
}

func TestWhatIsSealedOpensInItsPlace(t *testing.T) {
	k, _ := newKeys(t)
	a := seal(t, k)
	sealed := secrets(a)
	if len(sealed) != 10 {
		t.Fatalf("%d secrets: %v", len(sealed), sealed)
	}
	texts := make(map[string]bool)
	for place, text := range sealed {
		texts[text] = true
		if !job.Secret(text).Sealed() || strings.Contains(text, hush) {
			t.Errorf("%s: %q", place, text)
		}
	}
	if len(texts) != len(sealed) {
		t.Error("the same secret is sealed the same way in two places")
	}
	for phase, part := range map[job.Phase]*job.Action{job.MainAction: a, job.ErrorAction: a.Error} {
		if err := k.Open(part, "uid", phase); err != nil {
			t.Errorf("%s: %v", phase, err)
		}
	}
	if diff := cmp.Diff(secrets(newAction()), secrets(a)); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
}

// What is empty holds nothing to hide, and reads as empty.
func TestWhatIsEmptyStaysEmpty(t *testing.T) {
	k, _ := newKeys(t)
	a := &job.Action{Request: &job.Request{Authentication: &job.Authentication{}}, Queue: &job.QueueMessage{}, Bus: &job.ServiceBusMessage{}}
	want, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Seal(a, "uid"); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(a); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s, %v", got, err)
	}
	if err := k.Open(a, "uid", job.MainAction); err != nil {
		t.Error(err)
	}
}

// A secret is bound to its job, its phase and its place: whoever may write to
// the store cannot have it sent elsewhere as something else.
func TestWhatIsSealedOpensNowhereElse(t *testing.T) {
	k, _ := newKeys(t)
	for name, move := range map[string]func(a *job.Action) (uid string, phase job.Phase){
		"another job":   func(*job.Action) (string, job.Phase) { return "another", job.MainAction },
		"another phase": func(*job.Action) (string, job.Phase) { return "uid", job.ErrorAction },
		"another place": func(a *job.Action) (string, job.Phase) {
			auth := a.Request.Authentication
			auth.Password, auth.Secret = auth.Secret, auth.Password
			return "uid", job.MainAction
		},
		"a bit changed": func(a *job.Action) (string, job.Phase) {
			b := []byte(a.Bus.SASKey)
			b[len(b)-3] ^= 1
			a.Bus.SASKey = job.Secret(b)
			return "uid", job.MainAction
		},
		"cut": func(a *job.Action) (string, job.Phase) {
			a.Bus.SASKey = a.Bus.SASKey[:12]
			return "uid", job.MainAction
		},
		"not sealed": func(a *job.Action) (string, job.Phase) {
			a.Bus.SASKey = hush
			return "uid", job.MainAction
		},
	} {
		a := seal(t, k)
		uid, phase := move(a)
		err := k.Open(a, uid, phase)
		if err == nil || strings.Contains(err.Error(), hush) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSameSecretIsSealedTheSameWay(t *testing.T) {
	k, _ := newKeys(t)
	if diff := cmp.Diff(secrets(seal(t, k)), secrets(seal(t, k))); diff != "" {
		t.Errorf("sealed twice:\n%s", diff)
	}
	a := seal(t, k)
	was := secrets(a)
	if err := k.Seal(a, "uid"); err != nil { // what is sealed stays as it is
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, secrets(a)); diff != "" {
		t.Errorf("sealed again:\n%s", diff)
	}
}

// Rotation without downtime: processes that have not seen the new file yet open
// what is sealed with its key, and what was sealed before goes on opening.
func TestRotation(t *testing.T) {
	old, path := newKeys(t)
	before := seal(t, old)
	copied := filepath.Join(t.TempDir(), "keys.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(copied, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	behind := load(t, copied)
	if err := secret.Rotate(path); err != nil {
		t.Fatal(err)
	}
	rotated := load(t, path)
	after := seal(t, rotated)
	if after.Bus.SASKey == before.Bus.SASKey {
		t.Fatal("sealed with the same key")
	}
	for name, open := range map[string]func() error{
		"the new file opens the old": func() error { return rotated.Open(before.Clone(), "uid", job.MainAction) },
		"the new file opens the new": func() error { return rotated.Open(after.Clone(), "uid", job.MainAction) },
		"the old file opens the new": func() error { return behind.Open(after.Clone(), "uid", job.MainAction) },
	} {
		if err := open(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same secrets read as they did, however they are sealed now.
	like := newAction()
	if err := rotated.SealLike(like, "uid", before); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(secrets(before), secrets(like)); diff != "" {
		t.Errorf("sealed alike:\n%s", diff)
	}
	like = newAction()
	if err := rotated.SealLike(like, "uid", newAction()); err != nil { // nothing to be like
		t.Fatal(err)
	}
	if diff := cmp.Diff(secrets(after), secrets(like)); diff != "" {
		t.Errorf("sealed like nothing:\n%s", diff)
	}
}

func TestAKeyThatIsGone(t *testing.T) {
	k, path := newKeys(t)
	a := seal(t, k)
	keys, err := secret.List(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := secret.Remove(path, keys[0].ID); err == nil || !strings.Contains(err.Error(), "it is the one that seals") {
		t.Errorf("removed the key that seals: %v", err)
	}
	if err := secret.Remove(path, keys[1].ID); err == nil || !strings.Contains(err.Error(), "it is the next one") {
		t.Errorf("removed the next key: %v", err)
	}
	if err := secret.Remove(path, 7); err == nil || !strings.Contains(err.Error(), "there is no key 00000007") {
		t.Errorf("removed a key that is not there: %v", err)
	}
	if err := secret.Rotate(path); err != nil {
		t.Fatal(err)
	}
	if err := secret.Remove(path, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	after, err := secret.List(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []secret.Key{{ID: keys[1].ID, Use: secret.Sealing}, {ID: after[len(after)-1].ID, Use: secret.Next}}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	err = load(t, path).Open(a, "uid", job.MainAction)
	if err == nil || !strings.Contains(err.Error(), "was sealed with key "+keys[0].String()+", which this worker does not have") {
		t.Errorf("opened: %v", err)
	}
}

// A process follows its file, and waits for one that is half written.
func TestTheFileIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, path := newKeys(t)
		first := seal(t, k).Bus.SASKey
		if err := secret.Rotate(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		second := seal(t, k).Bus.SASKey
		if second == first {
			t.Error("the file changed and nobody looked")
		}
		// A key that another process has seen first is looked for at once.
		behind := load(t, path)
		for range 3 {
			if err := secret.Rotate(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := behind.Open(seal(t, load(t, path)), "uid", job.MainAction); err != nil {
			t.Error(err)
		}
		second = seal(t, behind).Bus.SASKey
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if seal(t, behind).Bus.SASKey != second {
			t.Error("sealed otherwise")
		}
	})
}

func TestKeyFiles(t *testing.T) {
	_, path := newKeys(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := secret.Create(path); err == nil || !strings.Contains(err.Error(), "there is a key file") {
		t.Errorf("created twice: %v", err)
	}
	dir := filepath.Dir(path)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind %v, %v", files, err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"absent":  {"", "there is no key file"},
		"text":    {"hunter2-hunter2", "is no key file"},
		"no keys": {`{"primaryKeyId":1,"key":[]}`, "is no key file"},
		"large":   {strings.Repeat("x", 2<<20), "more than"},
	} {
		bad := filepath.Join(dir, name)
		if c.content != "" {
			if err := os.WriteFile(bad, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := secret.Load(bad)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if err := secret.Rotate(bad); err == nil {
			t.Errorf("%s: rotated", name)
		}
	}
}

func TestKeysAreSafeForConcurrentUse(t *testing.T) {
	k, path := newKeys(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				uid := fmt.Sprint(i, j)
				a := newAction()
				if err := k.Seal(a, uid); err != nil {
					t.Error(err)
				}
				if err := k.Open(a, uid, job.MainAction); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		if err := secret.Rotate(path); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "keys.json")
	if err := secret.Create(path); err != nil {
		b.Fatal(err)
	}
	k, err := secret.Load(path)
	if err != nil {
		b.Fatal(err)
	}
	a := &job.Action{Request: &job.Request{Authentication: &job.Authentication{Password: hush}}}
	if err := k.Seal(a, "uid"); err != nil {
		b.Fatal(err)
	}
	sealed := a.Request.Authentication.Password
	b.ReportAllocs()
	for b.Loop() {
		a.Request.Authentication.Password = sealed
		if err := k.Open(a, "uid", job.MainAction); err != nil {
			b.Fatal(err)
		}
	}
}
