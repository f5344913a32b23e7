package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/carillon-scheduler/carillon/worker/action/bustest"
)

// peers are what jobs call, of every kind.
type peers struct {
	t        *testing.T
	http     *httptest.Server // over TLS; asks for a certificate
	bus      *bustest.Server  // over TLS
	storage  *storage
	login    *httptest.Server // the authority for OAuth
	caFile   string
	busKey   string
	token    string // that the authority gives
	mu       sync.Mutex
	requests []arrived
}

// arrived is a request as the HTTP target saw it.
type arrived struct {
	Path, Method, Body string
	Header             http.Header
	Certificate        string // its subject
}

func newPeers(t *testing.T) *peers {
	t.Helper()
	p := &peers{t: t, busKey: "b9sK3y+/canary+of+the+bus=", token: "t0ken.canary.of.the.authority"}
	p.http = httptest.NewUnstartedServer(p)
	p.http.TLS = clientCertificates()
	p.http.StartTLS()
	t.Cleanup(p.http.Close)
	p.caFile = filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.http.Certificate().Raw})
	if err := os.WriteFile(p.caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	bus, err := bustest.Start(bustest.Config{TLS: p.http.TLS.Clone(), Keys: map[string]string{"QPolicy": p.busKey}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	bus.Missing("missing")
	p.bus = bus
	p.login = httptest.NewServer(http.HandlerFunc(p.authorize))
	t.Cleanup(p.login.Close)
	p.storage = newStorage(t)
	return p
}

// ServeHTTP keeps the request and answers as its path says: /fail…, /echo, or
// anything else.
func (p *peers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a := arrived{Path: r.URL.Path, Method: r.Method, Body: string(body), Header: r.Header}
	if len(r.TLS.PeerCertificates) > 0 {
		a.Certificate = r.TLS.PeerCertificates[0].Subject.String()
	}
	p.mu.Lock()
	p.requests = append(p.requests, a)
	p.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/fail") {
		w.WriteHeader(http.StatusInternalServerError)
	}
	// Some targets show whoever calls what they were sent.
	fmt.Fprintf(w, "you sent %v", r.Header)
}

func (p *peers) authorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := r.ParseForm(); err != nil || r.Form.Get("client_secret") != oauthSecret || r.Form.Get("resource") != "https://target/" {
		w.WriteHeader(http.StatusUnauthorized)
		json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client", "error_description": "AADSTS7000215: the secret " + r.Form.Get("client_secret") + " is wrong"})
		return
	}
	json.NewEncoder(w).Encode(map[string]string{"access_token": p.token, "token_type": "Bearer", "expires_in": "3599"})
}

// called returns the requests for a path.
func (p *peers) called(path string) (list []arrived) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.requests {
		if a.Path == path {
			list = append(list, a)
		}
	}
	return list
}

// sent returns the messages of an entity.
func (p *peers) sent(entity string) (list []bustest.Message) {
	for _, m := range p.bus.Messages() {
		if m.Entity == entity {
			list = append(list, m)
		}
	}
	return list
}

// storage is a storage account: Azurite's where it is installed, otherwise no
// more than a server that takes messages.
type storage struct {
	t        *testing.T
	endpoint string
	account  string
	key      *azqueue.SharedKeyCredential // of Azurite

	mu       sync.Mutex
	messages map[string][]string // of the stand-in, by queue
}

// storageKey is the account's; it signs tokens and is given to nobody.
var storageKey = base64.StdEncoding.EncodeToString([]byte("canary of the storage account's own key"))

func newStorage(t *testing.T) *storage {
	t.Helper()
	s := &storage{t: t, account: "mystorageaccount", messages: make(map[string][]string)}
	key, err := azqueue.NewSharedKeyCredential(s.account, storageKey)
	if err != nil {
		t.Fatal(err)
	}
	s.key = key
	path := program(t, "azurite-queue")
	if path == "" {
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		s.endpoint = srv.URL + "/{account}"
		return s
	}
	cmd := exec.Command(path, "--queueHost", "127.0.0.1", "--queuePort", "0", "--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck")
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+s.account+":"+storageKey)
	cmd.Dir = t.TempDir()
	s.endpoint = start(t, "azurite", cmd).said(t, `successfully listens on (http://\S+)`, time.Minute) + "/{account}"
	return s
}

// ServeHTTP takes messages as the service does.
func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ MessageText string }
	queue := strings.Split(r.URL.Path, "/")[2]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, exists := s.messages[queue]; {
	case r.URL.Query().Get("sig") == "":
		w.WriteHeader(http.StatusForbidden)
	case !exists:
		w.Header().Set("x-ms-error-code", "QueueNotFound")
		w.WriteHeader(http.StatusNotFound)
	case xml.NewDecoder(r.Body).Decode(&m) != nil:
		w.WriteHeader(http.StatusBadRequest)
	default:
		s.messages[queue] = append(s.messages[queue], m.MessageText)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "<QueueMessagesList></QueueMessagesList>")
	}
}

func (s *storage) client(queue string) *azqueue.QueueClient {
	s.t.Helper()
	transport := new(http.Transport)
	s.t.Cleanup(transport.CloseIdleConnections)
	c, err := azqueue.NewQueueClientWithSharedKeyCredential(strings.Replace(s.endpoint, "{account}", s.account, 1)+"/"+queue, s.key,
		&azqueue.ClientOptions{ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: transport}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// create makes a queue and returns a SAS token that may add messages to it.
func (s *storage) create(queue string) (token string) {
	s.t.Helper()
	if program(s.t, "azurite-queue") != "" {
		if _, err := s.client(queue).Create(s.t.Context(), nil); err != nil {
			s.t.Fatal(err)
		}
	}
	s.mu.Lock()
	s.messages[queue] = nil
	s.mu.Unlock()
	q, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour), QueueName: queue, Permissions: (&sas.QueuePermissions{Add: true}).String(),
	}.SignWithSharedKey(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	return q.Encode()
}

// received returns the texts in a queue, at most 32.
func (s *storage) received(queue string) (texts []string) {
	s.t.Helper()
	if program(s.t, "azurite-queue") == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return append(texts, s.messages[queue]...)
	}
	n := int32(32)
	got, err := s.client(queue).PeekMessages(s.t.Context(), &azqueue.PeekMessagesOptions{NumberOfMessages: &n})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range got.Messages {
		texts = append(texts, *m.MessageText)
	}
	return texts
}

// signature returns the part of a SAS token that is the secret.
func signature(token string) (string, error) {
	q, err := url.ParseQuery(token)
	if err == nil && q.Get("sig") == "" {
		err = errors.New("no signature")
	}
	return q.Get("sig"), err
}

// clientCertificates has a server ask for certificates, and take any.
func clientCertificates() *tls.Config { return &tls.Config{ClientAuth: tls.RequestClientCert} }

// newPFX returns a PFX file in base64, with a certificate for "carillon".
func newPFX(t *testing.T, password string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "carillon"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	file, err := pkcs12.Modern.Encode(key, cert, nil, password)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(file)
}
