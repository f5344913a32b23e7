package main

import (
	"bytes"
	first "cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/tailscale/hujson"

	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
)

// The secrets of the test's jobs, each long enough to be found by no accident.
const (
	basicPassword = "basic/canary+of:a password&"
	pfxPassword   = "pfx canary"
	oauthSecret   = "oauth~canary+of=a.client"
)

// targets is a cluster of processes with targets of every kind.
type targets struct {
	*testing.T
	*peers
	api       string
	roles     []*process
	redisURL  string
	dirs      []string // where Redis and NATS keep their files
	keys      string
	tokens    map[string]string // SAS, by queue
	pfx       string
	bodiesOut [][]byte // every answer of the API
}

func newTargets(t *testing.T) *targets {
	w := &targets{T: t, peers: newPeers(t), keys: keyFile(t), tokens: make(map[string]string), pfx: newPFX(t, pfxPassword)}
	natsURL := w.servers()
	on := []string{"--redis", w.redisURL, "--nats", natsURL, "--log-level", "debug"}
	w.roles = []*process{
		carillon(t, append([]string{"planner"}, on...)...),
		carillon(t, "worker", "--keys", w.keys, "--nats", natsURL, "--log-level", "debug", "--tls-ca", w.caFile,
			"--storage-endpoint", w.storage.endpoint, "--servicebus-endpoint", "amqps://"+w.bus.Address(), "--oauth-authority", w.login.URL),
		carillon(t, append([]string{"apiserver", "--keys", w.keys, "--listen", "127.0.0.1:0", "--max-jobs", "1000", "--fastest", "1s", "--min-retry-interval", "1s"}, on...)...),
	}
	w.api = w.roles[2].said(t, `url=(http://\S+)`, 20*time.Second)
	eventually(t, 20*time.Second, func() error {
		_, err := w.call(http.MethodPut, "c", fastCollection)
		return err
	})
	for _, queue := range []string{"myqueue", "errors"} {
		w.tokens[queue] = w.storage.create(queue)
	}
	return w
}

// servers starts Redis and NATS on directories that can be searched.
func (w *targets) servers() (natsURL string) {
	redisPath, natsPath := program(w.T, "redis-server"), program(w.T, "nats-server")
	if redisPath == "" || natsPath == "" {
		w.redisURL, natsURL = servers(w.T)
		w.Log("the files of embedded parts are not searched")
		return natsURL
	}
	redisAddress, natsAddress := freeAddress(w.T), freeAddress(w.T)
	w.dirs = []string{w.TempDir(), w.TempDir()}
	redisAt(w.T, redisPath, redisAddress, w.dirs[0])
	natsAt(w.T, natsPath, natsAddress, w.dirs[1])
	w.redisURL = "redis://" + redisAddress
	return "nats://" + natsAddress
}

// call calls the API and remembers what it answered.
func (w *targets) call(method, path, body string) ([]byte, error) {
	out, err := request(w.api, method, collections+path, body)
	w.bodiesOut = append(w.bodiesOut, out)
	if err != nil {
		w.bodiesOut = append(w.bodiesOut, []byte(err.Error()))
	}
	return out, err
}

// object is a part of a definition.
type object = map[string]any

// put writes a job with an action.
func (w *targets) put(name string, action object) {
	w.Helper()
	body, err := json.Marshal(object{"properties": object{"action": action}})
	if err == nil {
		_, err = w.call(http.MethodPut, "c/jobs/"+name, string(body))
	}
	if err != nil {
		w.Fatal(err)
	}
}

// row is a row of history.
type row struct {
	Action, Status, Message string
	Retry                   int
}

// history waits until a job has so many rows and returns them, oldest first.
func (w *targets) history(name string, n int) (rows []row) {
	w.Helper()
	eventually(w.T, 30*time.Second, func() error {
		body, err := w.call(http.MethodGet, "c/jobs/"+name+"/history", "")
		if err != nil {
			return err
		}
		var list struct {
			Value []struct {
				Properties struct {
					ActionName, Status, Message string
					RetryCount                  int
				}
			}
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		rows = rows[:0]
		for _, v := range slices.Backward(list.Value) {
			rows = append(rows, row{v.Properties.ActionName, v.Properties.Status, v.Properties.Message, v.Properties.RetryCount})
		}
		if len(rows) != n {
			return fmt.Errorf("%s has %d rows of history, want %d: %s", name, len(rows), n, body)
		}
		return nil
	})
	return rows
}

// example reads the action of one of the examples of Microsoft's pages.
func (w *targets) example(name string) object {
	w.Helper()
	text, err := os.ReadFile(filepath.Join("apiserver", "wire", "testdata", name+".jsonc"))
	if err != nil {
		w.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`{"properties"`)) { // one has no braces around
		text = slices.Concat([]byte("{"), text, []byte("}"))
	}
	text, err = hujson.Standardize(text)
	if err != nil {
		w.Fatal(err)
	}
	var o struct{ Properties struct{ Action object } }
	if err := json.Unmarshal(text, &o); err != nil {
		w.Fatal(err)
	}
	return o.Properties.Action
}

// The actions of each type, and what each delivers. variant is part of where it
// goes: "" reaches a willing target.
func (w *targets) action(kind, variant string) object {
	entity := map[bool]string{true: "missing", false: "errors"}[variant == "fail"]
	bus := object{
		"namespace": "mySBNamespace", "message": "m", "transportType": "amqp",
		"authentication": object{"type": "sharedAccessKey", "sasKeyName": "QPolicy", "sasKey": w.busKey},
	}
	switch kind {
	case "Http", "Https":
		return object{"type": kind, "request": object{
			"method": "POST", "uri": w.http.URL + "/" + first.Or(variant, "errors"), "body": "m",
			"authentication": object{"type": "Basic", "username": "u", "password": basicPassword},
		}}
	case "StorageQueue":
		token := w.tokens["errors"]
		return object{"type": kind, "queueMessage": object{"storageAccount": w.storage.account, "queueName": strings.Replace(entity, "missing", "another", 1), "sasToken": token, "message": "m"}}
	case "ServiceBusQueue":
		bus["queueName"] = entity
		return object{"type": kind, "serviceBusQueueMessage": bus}
	default:
		bus["topicPath"] = entity
		return object{"type": kind, "serviceBusTopicMessage": bus}
	}
}

// TestTargets: every type of action and every login, from the REST API through
// all processes to targets of each kind, and no secret left anywhere on the way.
func TestTargets(t *testing.T) {
	w := newTargets(t)
	for _, part := range []struct {
		name string
		run  func(w *targets)
	}{
		{"http example", (*targets).httpExample},
		{"storage queue example", (*targets).storageExample},
		{"service bus examples", (*targets).busExamples},
		{"certificates and tokens", (*targets).logins},
		{"error actions of any type after any type", (*targets).errorActions},
		{"an error action under its own policy", (*targets).ownPolicy},
		{"metadata services", (*targets).metadata},
		{"keys rotate while jobs run", (*targets).rotation},
	} {
		t.Run(part.name, func(t *testing.T) {
			inner := *w
			inner.T = t
			part.run(&inner)
			w.bodiesOut = inner.bodiesOut
		})
	}
	w.searched()
}

func (w *targets) httpExample() {
	action := w.example("http-job")
	request := action["request"].(object)
	request["uri"] = w.http.URL + "/fail/some-method"
	request["authentication"] = object{"type": "Basic", "username": "u", "password": basicPassword}
	action["errorAction"].(object)["request"].(object)["uri"] = w.http.URL + "/notifyError"
	w.put("http", action)
	w.history("http", 2)

	main, notified := w.called("/fail/some-method"), w.called("/notifyError")
	if len(main) != 1 || len(notified) != 1 {
		w.Fatalf("called %v and %v", main, notified)
	}
	got := main[0]
	if got.Method != http.MethodPut || got.Body != "Posting from a timer" {
		w.Errorf("%s %q", got.Method, got.Body)
	}
	tag := got.Header.Get("x-ms-execution-tag")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+basicPassword)),
		"x-ms-scheduler-jobid": "http", "x-ms-scheduler-jobcollection": "c", "x-ms-scheduler-attempt": "1", "Idempotency-Key": tag,
	} {
		if v := got.Header.Get(name); v != want {
			w.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if n := notified[0]; n.Method != http.MethodPost || n.Header.Get("x-ms-execution-tag") != tag || len(tag) != 32 || n.Header.Get("Authorization") != "" {
		w.Errorf("the error action came as %+v", n)
	}
}

func (w *targets) storageExample() {
	action := w.example("storage-queue-action")
	message := action["queueMessage"].(object)
	message["storageAccount"], message["sasToken"] = w.storage.account, w.tokens["myqueue"]
	w.put("storage", action)
	if r := w.history("storage", 1)[0]; r.Status != "" || r.Message != "StorageQueue Action - Message to storage account 'mystorageaccount' queue 'myqueue' succeeded." {
		w.Errorf("history: %+v", r)
	}
	texts := w.storage.received("myqueue")
	if len(texts) != 1 {
		w.Fatalf("received %q", texts)
	}
	text, err := base64.StdEncoding.DecodeString(texts[0])
	if err != nil {
		w.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`encoding="utf-16"`), []byte(`encoding="utf-8"`), 1) // what it says, not what it is
	var got struct {
		XMLName                                              xml.Name `xml:"StorageQueueMessage"`
		ExecutionTag, ExpectedExecutionTime, Region, Message string
		Request                                              string `xml:"ClientRequestId"`
		Job                                                  string `xml:"SchedulerJobId"`
		Collection                                           string `xml:"SchedulerJobCollectionId"`
	}
	if err := xml.Unmarshal(text, &got); err != nil {
		w.Fatalf("%v: %s", err, text)
	}
	if got.Job != "storage" || got.Collection != "c" || got.Region != "West US" || got.Message != "My message body" || len(got.ExecutionTag) != 32 || len(got.Request) != 36 {
		w.Errorf("received %s", text)
	}
}

func (w *targets) busExamples() {
	for kind, entity := range map[string]string{"queue": "q1", "topic": "t1"} {
		action := w.example("service-bus-" + kind + "-action")
		for part := range action {
			if m, ok := action[part].(object); ok {
				m["authentication"].(object)["sasKey"] = w.busKey
			}
		}
		w.put(kind, action)
		name := "ServiceBus" + strings.ToUpper(kind[:1]) + kind[1:]
		if r := w.history(kind, 1)[0]; r.Status != "" || !strings.HasPrefix(r.Message, name+" Action - Message to '"+entity+"' in namespace 'mySBNamespace': succeeded") {
			w.Errorf("history: %+v", r)
		}
		got := w.sent(entity)
		if len(got) != 1 {
			w.Fatalf("received %+v", got)
		}
		tag, _ := got[0].Properties["x-ms-execution-tag"].(string)
		want := bustest.Message{
			Entity: entity, Host: "127.0.0.1", Agent: got[0].Agent, Audience: got[0].Audience, MessageID: tag, Body: []byte("Some message"), Sections: 1,
			Annotations: object{},
			Properties: object{
				"appname": "FromScheduler", "x-ms-scheduler-jobid": kind, "x-ms-scheduler-jobcollection": "c",
				"x-ms-execution-tag": tag, "x-ms-scheduler-attempt": "1",
			},
		}
		for _, varies := range []string{"x-ms-scheduler-expected-execution-time", "x-ms-client-request-id"} {
			if want.Properties[varies] = got[0].Properties[varies]; want.Properties[varies] == "" {
				w.Errorf("no %s", varies)
			}
		}
		if diff := cmp.Diff(want, got[0]); diff != "" || len(tag) != 32 {
			w.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func (w *targets) logins() {
	call := func(path string, auth object) object {
		return object{"type": "Https", "retryPolicy": object{"retryType": "none"}, "request": object{"method": "GET", "uri": w.http.URL + path, "authentication": auth}}
	}
	w.put("certificate", call("/certificate", object{"type": "ClientCertificate", "pfx": w.pfx, "password": pfxPassword}))
	oauth := object{"type": "ActiveDirectoryOAuth", "tenant": "contoso.com", "audience": "https://target/", "clientId": "client", "secret": oauthSecret}
	w.put("oauth", call("/oauth", oauth))
	refused := maps.Clone(oauth)
	refused["secret"] = "wrong " + oauthSecret
	w.put("refused", call("/refused", refused))

	w.history("certificate", 1)
	if got := w.called("/certificate"); len(got) != 1 || got[0].Certificate != "CN=carillon" {
		w.Errorf("with a certificate: %+v", got)
	}
	w.history("oauth", 1)
	if got := w.called("/oauth"); len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+w.token {
		w.Errorf("with a token: %+v", got)
	}
	if r := w.history("refused", 1)[0]; r.Status != "failed" || !strings.Contains(r.Message, "refused") || !strings.Contains(r.Message, "AADSTS7000215") {
		w.Errorf("refused: %+v", r)
	}
	if got := w.called("/refused"); len(got) != 0 {
		w.Errorf("called without a token: %+v", got)
	}
}

var actionTypes = []string{"Http", "Https", "StorageQueue", "ServiceBusQueue", "ServiceBusTopic"}

func (w *targets) errorActions() {
	before := w.deliveredErrors()
	for _, first := range actionTypes {
		for _, second := range actionTypes {
			action := w.action(first, "fail")
			action["retryPolicy"] = object{"retryType": "none"}
			action["errorAction"] = w.action(second, "")
			w.put(first+"-"+second, action)
		}
	}
	for _, first := range actionTypes {
		for _, second := range actionTypes {
			rows := w.history(first+"-"+second, 2)
			for i, want := range []row{{Action: "MainAction", Status: "failed"}, {Action: "ErrorAction"}} {
				kind := strings.Replace([]string{first, second}[i], "Https", "Http", 1)
				if got := rows[i]; got.Action != want.Action || got.Status != want.Status || !strings.HasPrefix(got.Message, kind+" Action - ") {
					w.Errorf("%s after %s: %+v", second, first, got)
				}
			}
		}
	}
	after := w.deliveredErrors()
	for kind, want := range map[string]int{"http": 10, "storage": 5, "bus": 10} {
		if n := after[kind] - before[kind]; n != want {
			w.Errorf("%s: %d error actions delivered, want %d", kind, n, want)
		}
	}
}

func (w *targets) deliveredErrors() map[string]int {
	return map[string]int{"http": len(w.called("/errors")), "storage": len(w.storage.received("errors")), "bus": len(w.sent("errors"))}
}

func (w *targets) ownPolicy() {
	action := w.action("StorageQueue", "fail")
	action["retryPolicy"] = object{"retryType": "fixed", "retryInterval": "PT1S", "retryCount": 1}
	action["errorAction"] = w.action("ServiceBusTopic", "fail")
	action["errorAction"].(object)["retryPolicy"] = object{"retryType": "fixed", "retryInterval": "PT1S", "retryCount": 2}
	w.put("policies", action)
	var got []string
	for _, r := range w.history("policies", 5) {
		got = append(got, fmt.Sprint(r.Action, " ", r.Retry, " ", r.Status))
	}
	want := []string{"MainAction 0 failed", "MainAction 1 failed", "ErrorAction 0 failed", "ErrorAction 1 failed", "ErrorAction 2 failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("(-want +got):\n%s", diff)
	}
}

func (w *targets) metadata() {
	for name, uri := range map[string]string{"v4": "http://169.254.169.254/latest/meta-data/", "mapped": "http://[::ffff:169.254.169.254]/"} {
		w.put("metadata-"+name, object{"type": "Http", "retryPolicy": object{"retryType": "none"}, "request": object{"method": "GET", "uri": uri}})
		if r := w.history("metadata-"+name, 1)[0]; r.Status != "failed" || !strings.Contains(r.Message, "these are never called") {
			w.Errorf("%s: %+v", uri, r)
		}
	}
}

// manage runs a command about the keys.
func (w *targets) manage(args ...string) string {
	w.Helper()
	code, stdout, stderr := command(w.Context(), "", slices.Concat([]string{"keys", args[0], w.keys}, args[1:])...)
	if code != 0 {
		w.Fatalf("%v: exit %d: %s", args, code, stderr)
	}
	return stdout
}

func (w *targets) rotation() {
	action := w.action("Https", "later")
	action["retryPolicy"] = object{"retryType": "none"}
	body, err := json.Marshal(object{"properties": object{"action": action, "startTime": time.Now().Add(time.Hour)}})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.call(http.MethodPut, "c/jobs/later", string(body)); err != nil {
		w.Fatal(err)
	}
	sealedWith := regexp.MustCompile(`([0-9a-f]{8})  seals`).FindStringSubmatch(w.manage("list"))[1]
	for i := range 3 {
		w.manage("rotate")
		name := fmt.Sprint("rotated", i)
		w.put(name, w.action("Https", name))
		if r := w.history(name, 1)[0]; r.Status != "" {
			w.Errorf("after rotation %d: %+v", i, r)
		}
		if _, err := w.call(http.MethodPost, "c/jobs/later/run", ""); err != nil {
			w.Error(err)
		}
		if r := w.history("later", i+1)[i]; r.Status != "" {
			w.Errorf("sealed before rotation %d: %+v", i, r)
		}
	}
	w.manage("remove", sealedWith)
	runs := 3
	eventually(w.T, 20*time.Second, func() error { // the worker looks at its file once a second
		if _, err := w.call(http.MethodPost, "c/jobs/later/run", ""); err != nil {
			return err
		}
		runs++
		if r := w.history("later", runs)[runs-1]; r.Status != "failed" || !strings.Contains(r.Message, "was sealed with key "+sealedWith+", which this worker does not have") {
			return fmt.Errorf("with its key removed: %+v", r)
		}
		return nil
	})
}

// searched looks for every secret in what the run has left behind: Redis, its
// files and those of NATS, the logs of all processes, and all answers.
func (w *targets) searched() {
	secrets := []string{basicPassword, base64.StdEncoding.EncodeToString([]byte("u:" + basicPassword)), pfxPassword, w.pfx[:64], oauthSecret, w.busKey, w.token}
	for _, token := range w.tokens {
		sig, err := signature(token)
		if err != nil {
			w.Fatal(err)
		}
		secrets = append(secrets, sig)
	}
	var forms []string
	for _, s := range secrets {
		forms = append(forms, actiontest.Forms(s)...)
	}
	const control = "Posting from a timer" // is no secret, and is to be found
	places, controls := 0, 0
	search := func(where string, text []byte) {
		places++
		if bytes.Contains(text, []byte(control)) {
			controls++
		}
		for _, form := range forms {
			if i := bytes.Index(text, []byte(form)); i >= 0 {
				w.Errorf("%s holds a secret: …%q…", where, text[max(0, i-80):min(len(text), i+40)])
				return
			}
		}
	}
	for _, p := range w.roles {
		p.stop(w.T, 10*time.Second)
		log, err := os.ReadFile(p.log)
		if err != nil {
			w.Fatal(err)
		}
		search("the log of the "+p.name, log)
	}
	search("an answer of the API", bytes.Join(w.bodiesOut, []byte("\n")))
	search("redis", w.dump())
	for _, dir := range w.dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			search(path, text)
			return err
		})
		if err != nil {
			w.Error(err)
		}
	}
	if want := 2 + len(w.dirs); controls < want { // answers, Redis, and their files
		w.Errorf("%q found in %d places, want at least %d", control, controls, want)
	}
	w.Logf("searched %d places for %d secrets", places, len(secrets))
}

// dump returns all that Redis holds.
func (w *targets) dump() []byte {
	w.Helper()
	opts, err := redis.ParseURL(w.redisURL)
	if err != nil {
		w.Fatal(err)
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	ctx := w.Context()
	names, err := rdb.Keys(ctx, "*").Result()
	if err != nil || len(names) < 10 {
		w.Fatalf("%d keys, %v", len(names), err)
	}
	var b bytes.Buffer
	for _, name := range names {
		switch kind := rdb.Type(ctx, name).Val(); kind {
		case "string":
			fmt.Fprintln(&b, name, rdb.Get(ctx, name).Val())
		case "hash":
			fmt.Fprintln(&b, name, rdb.HGetAll(ctx, name).Val())
		case "zset":
			fmt.Fprintln(&b, name, rdb.ZRange(ctx, name, 0, -1).Val())
		case "set":
			fmt.Fprintln(&b, name, rdb.SMembers(ctx, name).Val())
		default:
			w.Errorf("%s is a %s", name, kind)
		}
	}
	if !bytes.Contains(b.Bytes(), []byte("sealed:")) {
		w.Error("redis holds no sealed secret either")
	}
	return b.Bytes()
}
