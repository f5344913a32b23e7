# Carillon. `make` shows what there is.

BIN := bin
SEEDS ?= 2000
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help build test race lint sim bench compat peers soak overload faults mutants fuzz ci clean

help: ## Show this help
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

build: ## Build bin/carillon
	go build -trimpath -o $(BIN)/carillon .

test: ## Run the tests; those of real servers where redis-server and nats-server are in PATH or bin/
	go test ./...

race: ## Run the tests under the race detector
	go test -race ./...

lint: ## Check formatting and run the linters, pinned in tools/go.mod
	go vet ./...
	go tool -modfile=tools/go.mod golangci-lint run ./...
	cd tools/faults && go vet ./... && go tool -modfile=../../tools/go.mod golangci-lint run ./...

sim: ## Simulate thousands of clusters that meet every fault, each decided by a seed
	go test -count 1 -timeout 10m -v -run 'TestSim$$|TestJudgeSees' ./planner/sim -args -sim.seeds $(SEEDS)

bench: ## Run each benchmark once
	go test -run '^$$' -bench . -benchtime 1x ./...

compat: ## Drive carillon with Azure's own Go and npm clients, each in a module of its own
	cd apiserver/compat/gosdk && go vet ./... && go test -count 1 ./...
	cd apiserver/compat/nodesdk && npm ci --no-audit --no-fund --silent && npm test --silent

peers: ## Install Azurite and rhea, which the tests use where they are there
	cd tools/peers && npm ci --ignore-scripts --no-audit --no-fund --silent

soak: $(BIN)/nats-server ## 3 planners, 3 workers, 2,000 jobs every 5 s for 2 minutes, on real servers
	go test -count 1 -timeout 10m -v -run 'TestCluster' . -args -cluster.jobs 2000 -cluster.every 5s -cluster.for 2m

overload: $(BIN)/nats-server ## 100,000 jobs due at one instant, about 5 minutes; full Redis and full streams
	go test -count 1 -timeout 12m -v -run 'TestBurst|Full$$' . -args -burst.jobs 100000

FOR ?= 5m
faults: $(BIN)/nats-server ## Break things under load, as a seed says: FOR=30m SEED=1, ARGS='-o json'; bin/faults -h shows more
	go build -C tools/faults -o $(CURDIR)/$(BIN)/faults .
	$(BIN)/faults -root . -for $(FOR) $(if $(SEED),-seed $(SEED)) $(ARGS)

mutants: $(BIN)/nats-server ## Show that the faults find a Carillon without its safeguards
	go build -C tools/faults -o $(CURDIR)/$(BIN)/faults .
	$(BIN)/faults -root . -mutants $(ARGS)

fuzz: ## Fuzz what parses and what computes times, 20 s each
	@set -e; for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
		go test -run '^$$' -fuzz "^$$f$$" -fuzztime 20s $$p; done; done

$(BIN)/nats-server: go.mod
	go build -o $@ github.com/nats-io/nats-server/v2

ci: ## What CI runs
	.ci/run

clean: ## Remove what was built
	rm -rf $(BIN)
