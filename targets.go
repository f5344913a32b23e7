package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
	"github.com/carillon-scheduler/carillon/worker/action/webhook"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// targetFlags say how a worker reaches what jobs call, and what it may call.
type targetFlags struct {
	TLSCA         string   `name:"tls-ca" help:"File of certificates, in PEM, of authorities to trust besides the system's." type:"path" placeholder:"FILE"`
	TLSMinVersion string   `name:"tls-min-version" help:"Least version of TLS: 1.2 or 1.3." enum:"1.2,1.3" default:"1.2"`
	EgressAllow   []string `help:"What jobs may call, and nothing else: host names, *.domains, addresses and CIDR ranges, each with or without :PORT or :FROM-TO. Everything unless set." placeholder:"TARGET"`
	EgressDeny    []string `help:"What jobs may not call, written in the same way. It outweighs what is allowed. Link-local addresses and metadata services of clouds are refused in any case." placeholder:"TARGET"`

	StorageEndpoint    string `help:"URL of a storage account's queues, with {account} in it: another for Azurite (http://127.0.0.1:10001/{account}) or a sovereign cloud." default:"https://{account}.queue.core.windows.net"`
	ServiceBusEndpoint string `name:"servicebus-endpoint" help:"Where Service Bus namespaces are: amqps://HOST[:PORT], or amqp:// for an emulator without TLS. {namespace} in HOST stands for the name that a job gives; a HOST without it takes the messages of every namespace." default:"amqps://{namespace}.servicebus.windows.net"`
	OAuthAuthority     string `name:"oauth-authority" help:"URL of the authority that gives tokens for ActiveDirectoryOAuth, without the tenant." default:"https://login.microsoftonline.com"`
}

// network returns the network of a worker's actions.
func (f *targetFlags) network(timeout time.Duration) (*outbound.Network, error) {
	cfg := outbound.NetworkConfig{Timeout: timeout, MinVersion: tls.VersionTLS12}
	if f.TLSMinVersion == "1.3" {
		cfg.MinVersion = tls.VersionTLS13
	}
	if f.TLSCA != "" {
		pem, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		if cfg.RootCAs, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &usageError{fmt.Sprintf("--tls-ca: %s holds no certificate in PEM", f.TLSCA)}
		}
	}
	guard, err := outbound.NewGuard(f.EgressAllow, f.EgressDeny)
	if err != nil {
		return nil, &usageError{"--egress-" + err.Error()}
	}
	cfg.Guard = guard
	return outbound.NewNetwork(cfg), nil
}

// actions are what a worker can do.
type actions struct {
	byType map[job.ActionType]action.Action
	closes []func()
}

// busGoodbye is how long connections to Service Bus may take to end.
const busGoodbye = time.Second

func newActions(f *workerFlags) (*actions, error) {
	network, err := f.network(f.HTTPTimeout)
	if err != nil {
		return nil, err
	}
	agent := "Carillon/" + buildVersion()
	client := outbound.NewClient(outbound.Config{Timeout: f.HTTPTimeout, Concurrency: f.Concurrency, Network: network})
	web, err := webhook.New(webhook.Config{Client: client, Agent: agent, Authority: f.OAuthAuthority})
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--oauth-authority: %v", err)}
	}
	storage, err := storagequeue.New(storagequeue.Config{Endpoint: f.StorageEndpoint, Concurrency: f.Concurrency, Agent: agent, Network: network})
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--storage-endpoint: %v", err)}
	}
	bus, err := servicebus.New(servicebus.Config{Endpoint: f.ServiceBusEndpoint, Agent: agent, Network: network})
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--servicebus-endpoint: %v", err)}
	}
	return &actions{
		byType: map[job.ActionType]action.Action{
			job.HTTP: web, job.HTTPS: web, job.StorageQueue: storage, job.ServiceBusQueue: bus, job.ServiceBusTopic: bus,
		},
		closes: []func(){web.Close, client.CloseIdle, storage.CloseIdle, func() {
			ctx, cancel := context.WithTimeout(context.Background(), busGoodbye)
			defer cancel()
			_ = bus.Close(ctx) // what is left ends with the process
		}},
	}, nil
}

// close lets go of all connections, when no action is under way any more.
func (a *actions) close() {
	for _, c := range a.closes {
		c()
	}
}
