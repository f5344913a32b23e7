package store

import (
	"embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// The scripts. What each takes and returns is said at its head.
var (
	adoptScript             = script("adopt", pressing)
	deleteCollectionScript  = script("delete_collection")
	deleteJobScript         = script("delete_job")
	dispatchedScript        = script("dispatched", pressing)
	freeScript              = script("free")
	heartbeatScript         = script("heartbeat")
	importJobScript         = script("import_job")
	leaseScript             = script("lease", pressing)
	planScript              = script("plan")
	putCollectionScript     = script("put_collection")
	putJobScript            = script("put_job")
	readyScript             = script("ready", pressing)
	recordScript            = script("record", pressing)
	releaseScript           = script("release", pressing)
	resetScript             = script("reset")
	restoreCollectionScript = script("restore_collection")
	restoreJobScript        = script("restore_job")
	restoreProgressScript   = script("restore_progress", pressing)
	runJobScript            = script("run_job")
	settleScript            = script("settle", pressing)
)

// pressing goes before the scripts that have to go on when Redis is out of
// memory: they keep leases, note what became of what was planned, and so make
// room. Redis refuses a script's first write if that takes memory, and lets a
// script finish whose first write takes none (Redis documentation: Scripting
// with Lua, "Eval scripts and memory"; the flag allow-oom says the same to Redis
// 7 only). The first key of each is its shard's lease, which has no such field.
const pressing = "redis.call('HDEL', KEYS[1], 'room')\n"

// growing are scripts that a Redis without memory refuses: when one of them was
// carried out, there is memory.
var growing = []*redis.Script{planScript, putCollectionScript, putJobScript, runJobScript}

func script(name string, before ...string) *redis.Script {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("store: %v", err)) // embedded at build time
	}
	// The comment at the head is for people; Redis need not keep it.
	lines := strings.Split(string(src), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "--") {
		lines = lines[1:]
	}
	return redis.NewScript(strings.Join(before, "") + strings.Join(lines, "\n"))
}
