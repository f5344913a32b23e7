// Package gosdk holds tests and nothing else: Azure's own Go SDK, as it was
// published, drives a running carillon through the whole life of collections and
// jobs. It is a module of its own, so that carillon's go.mod need not know of the
// SDK, and it knows nothing of carillon's packages: what it tests is the wire.
//
// The tests build carillon from the repository that they stand in, or take the
// program that CARILLON_BINARY names.
package gosdk
