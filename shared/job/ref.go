package job

import (
	"hash/fnv"
	"strings"
)

// Provider is the resource provider that Azure's ids name.
const Provider = "Microsoft.Scheduler"

// CollectionRef names a collection, spelled as its creator spelled it. Two refs
// that differ only in case name the same collection: compare their Keys.
type CollectionRef struct {
	Subscription  string `json:"sub"`
	ResourceGroup string `json:"rg"`
	Collection    string `json:"col"`
}

// Key returns the name that identifies the collection whatever its spelling.
// Its parts are separated by NUL, so that keys sort by subscription, resource
// group, then name.
func (r CollectionRef) Key() string {
	return strings.ToLower(r.Subscription + "\x00" + r.ResourceGroup + "\x00" + r.Collection)
}

// ID returns the ARM resource id.
func (r CollectionRef) ID() string {
	return "/subscriptions/" + r.Subscription + "/resourceGroups/" + r.ResourceGroup +
		"/providers/" + Provider + "/jobCollections/" + r.Collection
}

// Shard returns the shard, 0 to shards-1, that holds the collection and all its
// jobs.
func (r CollectionRef) Shard(shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Key())) // never fails
	return int(h.Sum32() % uint32(shards))
}

// Ref names a job, spelled as its creator spelled it.
type Ref struct {
	CollectionRef
	Job string `json:"job"`
}

// ID returns the ARM resource id.
func (r Ref) ID() string { return r.CollectionRef.ID() + "/jobs/" + r.Job }

// FoldName returns the form under which a job's name is looked up and sorted.
func FoldName(name string) string { return strings.ToLower(name) }
