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
	adoptScript             = script("adopt")
	deleteCollectionScript  = script("delete_collection")
	deleteJobScript         = script("delete_job")
	dispatchedScript        = script("dispatched")
	freeScript              = script("free")
	heartbeatScript         = script("heartbeat")
	importJobScript         = script("import_job")
	leaseScript             = script("lease")
	planScript              = script("plan")
	putCollectionScript     = script("put_collection")
	putJobScript            = script("put_job")
	readyScript             = script("ready")
	recordScript            = script("record")
	releaseScript           = script("release")
	resetScript             = script("reset")
	restoreCollectionScript = script("restore_collection")
	restoreJobScript        = script("restore_job")
	restoreProgressScript   = script("restore_progress")
	runJobScript            = script("run_job")
	settleScript            = script("settle")
)

func script(name string) *redis.Script {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("store: %v", err)) // embedded at build time
	}
	// The comment at the head is for people; Redis need not keep it.
	lines := strings.Split(string(src), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "--") {
		lines = lines[1:]
	}
	return redis.NewScript(strings.Join(lines, "\n"))
}
