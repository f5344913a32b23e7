// Package embedded runs what carillon depends on inside this process, for the
// dev command and for tests: a nats-server with JetStream on disk, and a
// stand-in for Redis in memory. It knows nothing of what carillon keeps in
// them, and no role may import it.
package embedded
