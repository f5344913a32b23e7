// Package sim simulates a whole cluster in one process, on the time of
// testing/synctest: planners, workers and API servers as they are, the store
// with its Lua scripts on the stand-in for Redis, and a model of JetStream as
// these see it. Every round trip to Redis or NATS is a step, and a seed decides
// whose step is next, how long it takes, whether it fails before or after it
// took effect, and when a process dies, sleeps, or a server loses what it knows.
// After that the faults stop, the cluster settles, and what happened is held
// against what must always hold. The same seed gives the same run.
//
// It holds tests only.
//
// What it found that is not mended is kept from happening, each in one place
// that points here:
//
//   - A request that a planner gave up takes effect later, when others have
//     followed it (-sim.late lets it): a late "ready" script may open an empty
//     shard; a late "adopt" or "reset" brings back, or takes away, what came
//     after.
//   - Redis goes back in time, and an API server reads or writes a shard before
//     its planner has noticed: what it acknowledges may be undone, or reuse a
//     revision. Customers here wait for the planners.
//   - Redis loses what an API server wrote before that is journaled: the write
//     is acknowledged, and done only with the next rebuilding.
//   - Redis loses everything and the client repeats a run request from before,
//     which was carried out: the run is made again and, as its attempt is done,
//     sent again and again without an end. Customers here ask anew.
package sim
