# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# What is made is below .cache and in dist. `make PYTHON=…` chooses the Python (3.11 or newer) of virtual environments.

CACHE := .cache
VENV := $(CACHE)/venv
COPY := $(CACHE)/ansible-test/ansible_collections/foghorn/azure_events
TARBALL := dist/foghorn-azure_events-$(shell sed -n 's/^version: *//p' galaxy.yml).tar.gz
DEMO := roles/azure_simulator/files/demonstration
RUN_LAB := $(CACHE)/venv-lab/bin/python -m tests.lab

# Tools find each other on PATH, and the collection at its place; nobody's home is touched.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_HOME := $(CURDIR)/$(CACHE)/ansible
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/$(CACHE)/collections
# Some environments forbid Python to keep what it has compiled, and most of a short run is compiling then.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(CACHE)/pycache
export LC_ALL := C.UTF-8
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# make begins a step that has to wait for another target after all other steps: what long ones wait for is made before.
FIRST := collection $(if $(filter 1,$(ALL)),awx-collection haproxy)
SIDE_BY_SIDE = tools/side_by_side.sh "$(MAKE) $(FIRST:%=--assume-old=%)"
# Exhaustive tests, at each point or with many examples, take a sample without ALL=1.
export TEST_ALL := $(filter 1,$(ALL))
# reuse needs no libmagic then.
export REUSE_ENCODING_MODULE := charset_normalizer

.SILENT:

help: ## show this list
	sed -n 's/^\([a-z][a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

demo: $(VENV)/.run collection ## a simulated fleet through maintenance under traffic (HANDLER=off: without us; BALANCER=haproxy; SPEED=5; WATCH=1: live in a browser)
	python $(DEMO)/demo.py --handler $(or $(HANDLER),on) --balancer $(or $(BALANCER),azure) $(SPEED:%=--speed %) $(if $(WATCH),--watch) --picture dist/demo.svg
picture: $(VENV)/.test collection ## the pictures in docs: drawn from two runs of the demo, without a handler and with it; taken by a browser
	python $(DEMO)/demo.py --record $(CACHE)/demo-on.json
	python $(DEMO)/demo.py --handler off --like $(CACHE)/demo-on.json --record $(CACHE)/demo-off.json
	python $(DEMO)/picture.py docs/demo.svg $(CACHE)/demo-off.json $(CACHE)/demo-on.json
	SCREENSHOTS=docs BROWSER_TESTS=required python -m pytest tests/integration/browser

test: $(VENV)/.gates $(FIRST) ## what to run before a commit, without root (TEST=tests/unit/…: only these; ALL=1: everything, and exhaustive tests in full, as CI does)
	$(if $(TEST),python -m pytest $(TEST),$(SIDE_BY_SIDE) $(if $(ALL),$(STEPS),$(QUICK)))
test-versions: $(VENV)/.run $(FIRST) ## sanity tests, modules and agent, on the oldest and the newest versions that are supported
	$(SIDE_BY_SIDE) $(VERSIONS)
lint: $(VENV)/.gates $(FIRST) ## all checks that run no code of ours
	$(SIDE_BY_SIDE) $(LINT)
venv: $(VENV)/.gates collection ## what the tests and the lint need, in .cache/venv
include tests/steps.mk

lab: lab-needs $(CACHE)/venv-lab/.installed build ## real machines, as root on Debian or Ubuntu (SCENARIO="agent reboot": only these)
	$(RUN_LAB) run --tarball $(TARBALL) $(SCENARIO)
lab-shell: lab-needs $(CACHE)/venv-lab/.installed build ## a shell in an empty lab, to work on a scenario
	$(RUN_LAB) shell --tarball $(TARBALL)
lab-needs:
	tools/lab_needs.sh

docs: $(VENV)/.gates collection ## the site, with guides, modules, roles and playbooks, in dist/docs
	python tools/build_docs.py $(CACHE)/docs dist/docs
changelog: $(VENV)/.gates ## bring CHANGELOG.md up to date with changelogs/fragments
	antsibull-changelog release --update-existing --refresh --reload-plugins
requirements: $(CACHE)/venv-uv/.installed ## write requirements/*.txt anew from *.in (UPGRADE=1: with the newest versions)
	tools/lock_requirements.sh $(CACHE)/venv-uv/bin/uv $(if $(UPGRADE),--upgrade)

build: $(VENV)/.run copy ## the collection's tarball and what is in it (CycloneDX), in dist (RELEASE=1: it must name its source)
	python tools/build_collection.py $(COPY) dist $(if $(RELEASE),--release)
environments: $(VENV)/.test build ## the images of docs/execution_environment.md, as root on Debian or Ubuntu with podman
	python tools/build_environments.py $(TARBALL) $(CACHE)/environments
bench: $(VENV)/.run collection ## all benchmarks, one after the other
	tools/bench.sh python
clean: ## remove whatever was installed or made
	rm -rf $(CACHE) .ansible dist tests/output

collection: $(VENV)/.run
	python tools/link_collection.py
copy: $(VENV)/.run
	python tools/copy_collection.py $(COPY)

# What tests need comes on top of what a run needs, and what lints need on top of that.
STAGES := $(VENV)/.run $(VENV)/.test $(VENV)/.gates
OTHER_VENVS := $(CACHE)/venv-lab/.installed $(CACHE)/venv-uv/.installed
$(VENV)/.gates: $(VENV)/.test
$(VENV)/.test: $(VENV)/.run
$(STAGES): $(VENV)/.%: requirements/%.txt
$(OTHER_VENVS): $(CACHE)/venv-%/.installed: requirements/%.txt
$(STAGES) $(OTHER_VENVS):
	python=$$(tools/find_python.sh $(PYTHON)) && tools/make_venv.sh "$$python" $(@D) $(filter %.txt,$^)
	touch $@

# All that stand at the beginning of a rule, and the rooms of tests.
.PHONY: $(INTEGRATION) $(shell sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' $(MAKEFILE_LIST))
