// Command faults runs Carillon as it is deployed, breaks something every few
// seconds, and has `carillon verify` judge what came of it: planners, workers,
// API servers, Redis and NATS as processes of their own on loopback, a proxy on
// every connection between them, and a schedule of faults that a seed makes.
//
// With -mutants it shows that the suite can fail: it builds Carillon with one of
// its safeguards taken out, and demands that the checker reports it.
//
// It is a module of its own, so that carillon's go.mod need not know of the proxy,
// and it knows nothing of carillon's packages: only of its commands, and of the
// names that an operator sees in Redis and NATS. It needs Linux, redis-server and
// nats-server.
package main
