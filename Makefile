# The tasks of developers and CI. `make` without a target lists them.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
GO          ?= go
TOOL        := $(GO) tool -modfile=tools/go.mod
# pkg/operatorkit is a module of its own, which ./... does not include.
TOOL_OF_OPERATORKIT := $(GO) tool -modfile=../../tools/go.mod
# The end-to-end tests take 11 minutes on two idle cores and longer on busy ones; waits in tests last until this deadline.
TEST_FLAGS  ?= -timeout 60m -p 4
DIR         ?= .local

# Everything is built without cgo, including tests: programs and tests share one build, binaries need no system libraries, and
# the linker can drop unreachable methods. With cgo it cannot: Helm's kustomize can load plugins, which could call any method.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath -ldflags=-w $(GOFLAGS)
RUNS        ?= 1000

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets.
	@echo "usage: make TARGET"
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do printf '  %-15s %s\n' "$$name" "$$what"; done

.PHONY: build
build: binary node ## Build bin/aws-operator, the programs that instances run and, once, bin/kube (etcd and Kubernetes; a few minutes).
	@bin/aws-operator local build

# COMPILED turns what `go build -v` prints into a line for every 50 packages that had to be compiled; anything else it prints is an error.
COMPILED = awk -v what='$(1)' '/^[^ :\#]+$$/ { if (++n % 50 == 0) { print what ": compiled " n " packages"; fflush() }; next } { print > "/dev/stderr" }'

.PHONY: binary
binary:
	@mkdir -p bin
	@echo "$(GO) build -o bin/aws-operator ./cmd/aws-operator"
	@$(GO) build -v -o bin/aws-operator ./cmd/aws-operator 2>&1 | $(call COMPILED,aws-operator)

# gRPC's tracing uses templates, for which the linker keeps all methods of all types: nodeup would be four times as large.
STATIC := GOOS=linux $(GO) build -tags grpcnotrace -ldflags='-s -w'

.PHONY: node
node: nodeup # The programs of simulated machines, in addition to nodeup.
	$(STATIC) -o bin/machine ./cmd/machine

.PHONY: nodeup
nodeup: nodeup-amd64 nodeup-arm64 ## Build bin/nodeup-linux-… and bin/etcd-restore-linux-… for amd64 and arm64, which instances run.
	GOARCH=amd64 $(STATIC) -o bin/etcd-restore-linux-amd64 ./cmd/etcd-restore
	GOARCH=arm64 $(STATIC) -o bin/etcd-restore-linux-arm64 ./cmd/etcd-restore
	@ln -sf nodeup-linux-$$($(GO) env GOARCH) bin/nodeup

.PHONY: nodeup-amd64 nodeup-arm64
nodeup-amd64 nodeup-arm64: nodeup-%:
	@mkdir -p bin
	@echo "GOARCH=$* $(STATIC) -o bin/nodeup-linux-$* ./cmd/nodeup"
	@GOARCH=$* $(STATIC) -v -o bin/nodeup-linux-$* ./cmd/nodeup 2>&1 | $(call COMPILED,nodeup)

# The images' name in the layout, and with it the tag that push gives them.
VERSION ?= $(shell git describe --tags --always --dirty)
IMAGES  ?= bin/images

.PHONY: images
images: ## Build the operator's images for amd64 and arm64 as an OCI layout below bin/images (VERSION=v1.2.3), without a container engine.
	@mkdir -p $(IMAGES)/programs
	for arch in amd64 arm64; do for name in aws-operator nodeup etcd-restore; do \
		GOARCH=$$arch $(STATIC) -o $(IMAGES)/programs/$$name-linux-$$arch ./cmd/$$name; done; done
	@rm -rf $(IMAGES)/layout
	$(GO) run ./release/images build -programs $(IMAGES)/programs -layout $(IMAGES)/layout -version $(VERSION) -revision $$(git rev-parse HEAD)

# Hugo is a large dependency, so the site is a module of its own; the first run compiles for some minutes.
SITE   := $(CURDIR)/bin/site
PARAMS := HUGO_PARAMS_VERSION=$(VERSION) HUGO_PARAMS_REVISION=$$(git rev-parse HEAD)

.PHONY: site
site: ## Build the documentation as a site in bin/site, a folder for each VERSION, and check its links.
	cd site && $(PARAMS) $(GO) tool hugo --quiet --panicOnWarning --noBuildLock --cleanDestinationDir --destination $(SITE)/$(VERSION)
	cd site && $(GO) test ./... && $(GO) run . $(SITE) $(VERSION)

RELEASE ?= bin/release

.PHONY: release
release: images ## Pack what a release publishes: the images, and archives, SBOMs, the chart and checksums below bin/release (VERSION=v1.2.3).
	@rm -rf $(RELEASE)
	$(GO) run ./release/archives -programs $(IMAGES)/programs -out $(RELEASE) -version $(VERSION) -time $$(git show -s --format=%cI HEAD)

.PHONY: push
push: ## Push the images that make images has built (REPOSITORY=registry/aws-operator VERSION=v1.2.3), with Docker's credentials.
	$(GO) run ./release/images push -layout $(IMAGES)/layout -version $(VERSION) -repository $(REPOSITORY)

# The demo needs less than a build: its instances are amd64, it restores no etcd, and KUBEBUILDER_ASSETS may name a Kubernetes.
.PHONY: demo
demo: binary nodeup-amd64 ## Run the demo: start a cluster and AWS on loopback, apply the quick start, and clean up.
	@bin/aws-operator demo

.PHONY: local
local: build ## Start a cluster, AWS and the operator, and stay up until Ctrl-C (DIR=.local).
	@bin/aws-operator local up --dir $(DIR)

.PHONY: containers
containers: build ## Build bin/containers, with which simulated machines run containers; needs gcc, libseccomp, nftables and iptables.
	@bin/aws-operator local build --containers

.PHONY: test-containers
test-containers: containers ## Test a cluster on machines with the real kubelet, containerd and runc; Linux, as root.
	TEST_CONTAINERS=1 $(GO) test -count=1 -timeout 60m -v ./test/containers

.PHONY: test-console
test-console: build ## Test the page of the console in Chromium, with axe; with node, npm, chromium and kubectl.
	test/console/run.sh

.PHONY: test-site
test-site: site ## Read pages of the site in Chromium, with axe; with node, npm and chromium.
	test/site/run.sh $(SITE) $(VERSION)

.PHONY: test-console-roll
test-console-roll: build ## Watch the roll of a cluster of five minutes on a page of the console in Chromium.
	test/console/roll.sh

.PHONY: test-systemd
test-systemd: build ## Test instances with real systemd and cloud-init, from a Debian tree; Linux, as root, with debootstrap.
	TEST_SYSTEMD=1 $(GO) test -count=1 -timeout 30m -v ./test/systemd

# The module test/karpenter pins Karpenter's version; the first run compiles it for some minutes.
.PHONY: test-karpenter
test-karpenter: build ## Run the real Karpenter for a cluster of machines that really boot; Linux, as root.
	TEST_KARPENTER=1 $(GO) test -count=1 -timeout 30m -run 'TestKarpenter$$' -v ./test/e2e

# The module test/externaldns pins the version of ExternalDNS; the first run compiles it for some minutes.
.PHONY: test-external-dns
test-external-dns: build ## Run the real ExternalDNS with the role and arguments that clusters give it.
	TEST_EXTERNAL_DNS=1 $(GO) test -count=1 -timeout 30m -run TestExternalDNS -v ./test/roles

# The module test/ebscsi pins the version of the EBS CSI driver; the first run compiles it for some minutes.
.PHONY: test-ebs-csi
test-ebs-csi: build ## Run the real controller of the EBS CSI driver with the role that clusters give it.
	TEST_EBS_CSI=1 $(GO) test -count=1 -timeout 30m -run TestEBSCSIDriver -v ./test/roles

# The module test/clusterapi pins the version of Cluster API; the first run compiles it and clusterctl for some minutes.
.PHONY: test-cluster-api
test-cluster-api: build ## Run Cluster API's own controllers and clusterctl with the operator as their provider.
	cd test/clusterapi && TEST_CLUSTER_API=1 KUBEBUILDER_ASSETS=$(ASSETS) $(GO) test -count=1 -timeout 30m -v .

# The module test/authenticator pins the version of aws-iam-authenticator; the first run compiles it for some minutes.
.PHONY: test-authenticator
test-authenticator: ## Judge tokens for EKS with the verifier of aws-iam-authenticator.
	TEST_AUTHENTICATOR=1 $(GO) test -count=1 -timeout 30m -run TestAuthenticator -v ./internal/ekstoken

# The module test/nodeadm pins the version of nodeadm; the first run compiles it for a minute. With NODEADM=PROGRAM, it is
# another version, which also reads the MIME document.
.PHONY: test-nodeadm
test-nodeadm: ## Judge user data of self-managed groups of EKS with nodeadm.
	TEST_NODEADM=1 $(GO) test -count=1 -timeout 30m -run TestNodeadm -v ./internal/cluster/eksboot

# The module test/conformance/suite lists what is built from Kubernetes' module; with an empty cache, it takes 10 minutes.
SUITE    := bin/conformance
FOCUS    ?=
LIMIT    ?= 3h
RESUME   ?=
PROGRAMS := github.com/onsi/ginkgo/v2/ginkgo k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes/test/images/agnhost \
	k8s.io/kubernetes/test/images/nonewprivs

.PHONY: conformance
conformance: containers $(SUITE)/e2e.test ## Run Kubernetes' conformance suite (FOCUS=… LIMIT=3h RESUME=-resume) and write its page; Linux, as root.
	$(GO) run ./test/conformance -focus='$(FOCUS)' -limit=$(LIMIT) $(RESUME)

# The programs report the version in go.mod, as those of Kubernetes' releases do.
VERSION_PACKAGE := k8s.io/component-base/version
SUITE_FLAGS      = -ldflags="-s -w -X $(VERSION_PACKAGE).gitVersion=$$version -X $(VERSION_PACKAGE).gitMajor=1 -X $(VERSION_PACKAGE).gitMinor=$$minor"

$(SUITE)/e2e.test: test/conformance/suite/go.mod test/conformance/suite/go.sum
	@mkdir -p $(SUITE)
	cd test/conformance/suite; version=$$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes); minor=$$(cut -d. -f2 <<<$$version); \
		$(GO) build $(SUITE_FLAGS) -o $(CURDIR)/$(SUITE)/ $(PROGRAMS); \
		$(GO) test -c -vet=off $(SUITE_FLAGS) -o $(CURDIR)/$@ k8s.io/kubernetes/test/e2e

.PHONY: previous
previous: binary # The Kubernetes from which the tests upgrade a cluster; a few minutes, once.
	@bin/aws-operator local build --previous

# lint vets the code.
# The packages that take 5 minutes and more. They start first, so that none of them ends alone on an idle machine.
LONGEST := ./internal/service/controller ./internal/nodeup ./test/e2e ./internal/cluster/controller ./test/simulation \
	./internal/plan ./internal/cli/trial

# A fifth of the processors' time goes into collecting garbage with Go's default, 100, and half of the memory is unused.
test: export GOGC := 400
.PHONY: test
test: build ## Run all tests except those with Terraform, which are part of interop, and those that have targets of their own.
	@echo "the longest start first; go test prints other results when these end"
	$(GO) test -vet=off $(TEST_FLAGS) $$($(GO) list $(LONGEST) ./... | grep -v /test/terraform$$)
	@$(MAKE) --no-print-directory test-operatorkit

# etcd and kube-apiserver under the names by which controller-runtime's envtest looks them up.
ASSETS := $(CURDIR)/bin/assets

.PHONY: test-operatorkit
test-operatorkit: build ## Run the tests of the module pkg/operatorkit.
	@mkdir -p $(ASSETS); for name in etcd kube-apiserver; do ln -sf ../kube $(ASSETS)/$$name; done
	cd pkg/operatorkit && KUBEBUILDER_ASSETS=$${KUBEBUILDER_ASSETS:-$(ASSETS)} $(GO) test $(TEST_FLAGS) ./...

.PHONY: test-permissions
test-permissions: build ## Test an operator with the least policies, and that each of their statements is needed.
	$(GO) test -count=1 -timeout 20m -v ./test/permissions

# Prometheus is a large dependency, so its test is a module of its own; the first run compiles for some minutes.
.PHONY: test-alerts
test-alerts: build ## Test the chart's alerts and dashboards with Prometheus' own code, which scrapes a run of the operator.
	cd test/alerts && $(GO) test -count=1 -timeout 20m ./...

.PHONY: alerts
alerts: ## Test the chart's alerts with Prometheus' own code, and its dashboards with Grafana's schema, without a run of the operator.
	cd test/alerts && $(GO) test -count=1 -short ./...

# Argo CD is a large dependency, too.
.PHONY: test-gitops
test-gitops: ## Test how Argo CD's own code, and Flux's library, read the health of objects.
	cd test/gitops && $(GO) test -count=1 ./...

.PHONY: test-upgrades
test-upgrades: build previous ## Upgrade a cluster of each minor version that has a release to the next (builds a third Kubernetes).
	@bin/aws-operator local build --oldest
	TEST_UPGRADES=1 $(GO) test -count=1 -timeout 1h -run 'TestEachMinorVersionIsUpgradedToTheNext' -v ./test/e2e

OPERATIONS = TestUpgradeOfProcessMachines|TestLostEtcdVolumes|TestRestoreFromSnapshot|OfRealMachines

.PHONY: test-operations
test-operations: build previous ## Upgrade, restore, repair, resize and move control planes of machines that really boot, rotate their CAs and encrypt their Secrets (half an hour).
	TEST_OPERATIONS=1 $(GO) test -count=1 -timeout 90m -run '$(OPERATIONS)' -v ./test/e2e

.PHONY: test-cis
test-cis: build ## Let kube-bench judge a slot by the CIS benchmark (KUBE_BENCH=the folder of its sources, with the program built there); Linux, as root.
	@test -x "$$KUBE_BENCH/kube-bench" || { echo "KUBE_BENCH is not the folder of a built kube-bench:" \
		"git clone https://github.com/aquasecurity/kube-bench && cd kube-bench && CGO_ENABLED=0 go build ."; exit 1; }
	$(GO) test -count=1 -timeout 20m -run TestCISBenchmark -v ./test/e2e

FROM   ?= b2bd182c
QUEUES ?= 1000

.PHONY: test-operator-upgrade
test-operator-upgrade: build ## Kill an operator of another commit amid work, and let this one continue (FROM=commit QUEUES=1000).
	commit=$$(git rev-parse --verify '$(FROM)^{commit}'); older=$(CURDIR)/bin/from/$$commit; \
	if [ ! -x $$older/aws-operator ]; then mkdir -p $$older/source; git archive $$commit | tar -x -C $$older/source; \
		(cd $$older/source && $(GO) build -o ../aws-operator ./cmd/aws-operator); rm -rf $$older/source; fi; \
	OLDER_OPERATOR=$$older/aws-operator QUEUES=$(QUEUES) \
		$(GO) test -count=1 -timeout 1h -run TestOperatorIsUpgradedAmidWork -v ./test/e2e

DAYS ?= 30

.PHONY: churn
churn: ## Let 30 virtual days of churn pass (DAYS=30), after which an operator holds no more than before.
	CHURN_DAYS=$(DAYS) $(GO) test -count=1 -timeout 3h -v -run 'TestChurn$$' ./test/simulation

.PHONY: simulate
simulate: ## Run 1,000 seeded fault simulations in virtual time (RUNS=1000); half an hour on two cores.
	SIMULATION_RUNS=$(RUNS) $(GO) test -count=1 -timeout 3h ./test/simulation

# FUZZ selects fuzz targets by name, and PACKAGES where to look for them. Go fuzzes one at a time; what
# it finds is written to testdata/fuzz beside the test, and is a test from then on.
FUZZTIME ?= 10s
FUZZ     ?= .
PACKAGES ?= .

.PHONY: fuzz
fuzz: ## Fuzz each parser of bytes from outside for a time (FUZZTIME=10s FUZZ=regexp PACKAGES=folder); 1h each once.
	@GO='$(GO)' test/fuzz/run.sh '$(PACKAGES)' '$(FUZZ)' '$(FUZZTIME)'

.PHONY: hostile
hostile: build ## Run 100 seeded campaigns of hostile authors, workload clusters and severe failures (HOSTILE_RUNS=100).
	HOSTILE_RUNS=$${HOSTILE_RUNS:-100} $(GO) test -count=1 -timeout 6h -run 'TestAuthors|TestLying|TestSevere' ./test/hostile ./test/simulation

# LARGEST is the size in bytes of the largest file that may be committed. Name an exception here, with its reason.
LARGEST := 1048576

.PHONY: sizes
sizes: # Fail on a large file: a test binary, for example, stays in the history forever.
	@git ls-files -z | xargs -0 wc -c | awk '$$2 != "total" && $$1 > $(LARGEST) { print $$2 " has " $$1 " bytes, more than $(LARGEST)"; bad = 1 } END { exit bad }'

.PHONY: lint
lint: sizes ## Check the code against .golangci.yml, and texts against test/words/words.yaml.
	$(GO) run ./test/words
	$(TOOL) golangci-lint run ./...
	cd pkg/operatorkit && $(TOOL_OF_OPERATORKIT) golangci-lint run ./...
	cd kube && $(GO) vet ./...

.PHONY: generate
generate: ## Regenerate deepcopy functions, CRDs and the reference; format the code.
	$(GO) generate -skip 'go run ./fetch' ./...
	cd pkg/operatorkit && $(GO) generate ./...
	$(TOOL) golangci-lint fmt ./... ./pkg/operatorkit/...

.PHONY: schemas
schemas: ## Download the schemas of all CloudFormation types from AWS's public archive.
	$(GO) generate -run 'go run ./fetch' ./internal/cfn/schema

# The hashes of all files that are or would be committed.
FINGERPRINT := git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null

.PHONY: verify
verify: ## Fail when a generated file is not up to date.
	@mkdir -p .cache; $(FINGERPRINT) > .cache/before || true
	@$(MAKE) --no-print-directory generate
	@$(FINGERPRINT) > .cache/after || true
	@diff .cache/before .cache/after >/dev/null || { echo "make generate changed these files; commit them:"; \
		diff .cache/before .cache/after | sed -nE 's/^[<>] [0-9a-f]+ +/  /p' | sort -u; exit 1; }

.PHONY: golden-update
golden-update: ## Rewrite the golden files; read the diff before you commit it.
	@$(GO) test ./internal/kops -update # the translated manifests of kops are examples
	@packages=$$(grep -rlE 'flag\.Bool\("update"|internal/golden"' --include=*_test.go . | xargs -rn1 dirname | sort -u); \
		test -z "$$packages" || $(GO) test $(TEST_FLAGS) $$packages -update

.PHONY: bench
bench: build ## Measure the operator on the simulator, and print a table.
	$(GO) run ./test/bench

.PHONY: interop
interop: build ## Test the installed clients (kubectl, aws, boto3, terraform …) against the simulator.
	test/interop/run.sh

.PHONY: clean
clean: ## Remove build output. Stop running environments first: bin/aws-operator local down.
	rm -rf bin .cache
