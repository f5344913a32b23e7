package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/carillon-scheduler/carillon"

// layers is the whole import policy of this repository. A package may import,
// of this module, only what its row allows: a path, or a path and what is below
// it if it ends in "/...". Outside the module, only the packages named in
// drivers are restricted. A package without a row fails the test.
var layers = map[string][]string{
	"": {"planner", "worker/...", "apiserver/...", "shared/..."}, // package main wires

	"planner":                    {"shared/job", "shared/recur"},
	"planner/sim":                {}, // tests only
	"worker":                     {"worker/action", "shared/job"},
	"worker/action":              {"shared/job"},
	"worker/action/webhook":      {"worker/action", "worker/outbound", "shared/job", "shared/pfx"},
	"worker/action/storagequeue": {"worker/action", "worker/outbound", "shared/job"},
	"worker/action/servicebus":   {"worker/action", "worker/outbound", "shared/job"},
	"worker/action/actiontest":   {"worker/action", "shared/job"}, // the suite that all of them pass
	"worker/action/bustest":      {},                              // a Service Bus for tests
	"worker/outbound":            {},
	"apiserver":                  {"apiserver/arm", "shared/job"},
	"apiserver/arm":              {"apiserver/wire", "shared/job", "shared/recur"},
	"apiserver/wire":             {"shared/job", "shared/recur", "shared/pfx"},
	"apiserver/client":           {},
	"apiserver/verify":           {"apiserver/client"}, // from outside: not even the words of the others

	"shared/recur":           {},
	"shared/job":             {"shared/recur"},
	"shared/backup":          {"shared/job"},
	"shared/store":           {"shared/job", "shared/pressure"},
	"shared/store/storetest": {"shared/job", "shared/recur"},
	"shared/queue":           {"shared/job", "shared/pressure"},
	"shared/pressure":        {},
	"shared/embedded":        {},
	"shared/pfx":             {},
	"shared/secret":          {"shared/job"},
}

// drivers says which packages may import something that talks to the outside,
// or what is below it.
var drivers = map[string][]string{
	"github.com/redis/go-redis":                                    {"", "shared/store"},
	"github.com/nats-io/nats.go":                                   {"", "shared/queue", "shared/embedded"},
	"github.com/nats-io/nats-server":                               {"shared/embedded"},
	"github.com/alicebob/miniredis":                                {"shared/embedded"},
	"github.com/alecthomas/kong":                                   {""},
	"github.com/tailscale/hujson":                                  {"apiserver/wire"},
	"software.sslmate.com/src/go-pkcs12":                           {"shared/pfx"},
	"github.com/tink-crypto/tink-go":                               {"shared/secret"},
	"golang.org/x/oauth2":                                          {"worker/action/webhook"},
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue":        {"worker/action/storagequeue"},
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus": {"worker/action/servicebus"},
	"github.com/Azure/azure-sdk-for-go/sdk/azcore":                 {"worker/action/storagequeue", "worker/action/servicebus"},
	"github.com/Azure/go-amqp":                                     {"worker/action/servicebus"},
	"testing":                                                      {"shared/store/storetest", "worker/action/actiontest"},
}

// pure packages may import nothing but the standard library and their row.
var pure = []string{"shared/recur", "shared/job"}

func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, ok := layers[pkg]
		if !ok {
			t.Errorf("%s: no row in layers; add one", pkg)
			continue
		}
		for _, imp := range p.Imports {
			if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
				if !matches(allowed, rest) {
					t.Errorf("%s must not import %s", pkg, rest)
				}
				continue
			}
			for driver, users := range drivers {
				if under(imp, driver) && !matches(users, pkg) {
					t.Errorf("%s must not import %s", pkg, imp)
				}
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && matches(pure, pkg) {
				t.Errorf("%s is pure and must not import %s", pkg, imp)
			}
		}
	}
}

func matches(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if dir, ok := strings.CutSuffix(p, "/..."); p == pkg || ok && under(pkg, dir) {
			return true
		}
	}
	return false
}

// under reports whether pkg is dir or below it.
func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }
