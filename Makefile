# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# What is installed or made is below .cache, but for what `make build` makes, in dist, and what `make lab` keeps of the
# system (docs/lab.md). `make PYTHON=…` chooses the Python (3.11 or newer) of the virtual environments.

CACHE := .cache
VENV := $(CACHE)/venv
OTHER_VENVS := $(CACHE)/venv-lab/.installed $(CACHE)/venv-uv/.installed
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
COPY := $(CACHE)/ansible-test/ansible_collections/foghorn/azure_events
VERSION = $(shell sed -n 's/^version: *//p' galaxy.yml)
TARBALL = dist/foghorn-azure_events-$(VERSION).tar.gz
CORE := plugins/module_utils/scheduled_events
AGENT := roles/handler_agent
PLAYBOOKS := tests/integration/playbooks
DEMONSTRATION := roles/azure_simulator/files/demonstration
HANDLER ?= on
BALANCER ?= azure
LAB ?= foghorn

# Tools find each other on PATH, and the collection at its place; nobody's home is touched.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export ANSIBLE_HOME := $(CURDIR)/$(CACHE)/ansible
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/$(CACHE)/collections
# Some environments forbid Python to keep what it has compiled, and most of a short run is compiling then.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(CACHE)/pycache
# Ansible insists on UTF-8.
export LC_ALL := C.UTF-8
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Exhaustive tests, at each point or with many examples, take a sample without ALL=1.
export TEST_ALL := $(filter 1,$(ALL))
# reuse needs no libmagic then.
export REUSE_ENCODING_MODULE := charset_normalizer

LINT := ruff mypy managed-node-code ansible-lint changelog-lint workflow-lint reuse docs-lint galaxy-importer
INTEGRATION := $(patsubst tests/integration/%/,integration-%,$(filter-out %/__pycache__/,$(wildcard tests/integration/*/)))
# The oldest and the newest ansible-core that are supported, and the Pythons of VMs.
VERSIONS := unit-oldest-agent unit-oldest-python integration-newest sanity-oldest sanity-newest
# Lanes side by side (tools/run_steps.py), more than twice as many as the cores of a small machine: many a test waits more
# than it works. What follows `++` goes to the lane that is free, what takes longest first.
QUICK := ruff mypy managed-node-code reuse integration-readme -- integration-handle-events -- unit-agent -- \
  unit-plugins -- ++ unit-agent-lives unit-rest
POOL := unit-agent-lives integration-control-plane integration-demo integration-fleets integration-modules \
  integration-arm unit-plugins integration-agent unit-rest integration-readme integration-rulebooks
STEPS := $(LINT) -- integration-playbooks -- integration-handle-events -- unit-agent -- windows wine -- \
  ++ $(VERSIONS) $(POOL) $(filter-out integration-playbooks $(POOL),$(INTEGRATION))
RUN_STEPS := $(BIN)/python tools/run_steps.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SILENT:
# All that stand at the beginning of a rule, and those of the rooms.
.PHONY: $(INTEGRATION) $(shell sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' $(lastword $(MAKEFILE_LIST)))

help: ## show this list
	sed -n 's/^\([a-z][a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

demo: $(VENV)/.run collection ## a simulated fleet through maintenance under traffic (HANDLER=off: without us; BALANCER=haproxy; SPEED=5; WATCH=1: live in a browser)
	$(BIN)/python $(DEMONSTRATION)/demo.py --handler $(HANDLER) --balancer $(BALANCER) $(if $(SPEED),--speed $(SPEED)) $(if $(WATCH),--watch) --picture dist/demo.svg
picture: $(VENV)/.test collection ## the pictures in docs: drawn from two runs of the demo, without a handler and with it; taken by a browser
	$(BIN)/python $(DEMONSTRATION)/demo.py --record $(CACHE)/demo-on.json
	$(BIN)/python $(DEMONSTRATION)/demo.py --handler off --like $(CACHE)/demo-on.json --record $(CACHE)/demo-off.json
	$(BIN)/python $(DEMONSTRATION)/picture.py docs/demo.svg $(CACHE)/demo-off.json $(CACHE)/demo-on.json
	SCREENSHOTS=docs BROWSER_TESTS=required $(PYTEST) tests/integration/browser

test: $(VENV)/.gates ## what to run before a commit, without root (TEST=tests/unit/…: only these; ALL=sampled: everything, as CI does; ALL=1: and exhaustive tests in full)
	$(if $(TEST),$(PYTEST) $(TEST),$(RUN_STEPS) "$(MAKE)" $(if $(ALL),$(STEPS),$(QUICK)))
venv: $(VENV)/.gates collection ## what the tests and the lint need, in .cache/venv
test-versions: $(VENV)/.run ## sanity tests, modules and agent, on the oldest and the newest versions that are supported
	$(RUN_STEPS) "$(MAKE)" -- ++ $(VERSIONS)

lab: lab-needs $(CACHE)/venv-lab/.installed build ## real machines, as root on Debian or Ubuntu (SCENARIO="agent reboot": only these)
	LAB=$(LAB) $(CACHE)/venv-lab/bin/python -m tests.lab run --tarball $(TARBALL) $(SCENARIO)
lab-shell: lab-needs $(CACHE)/venv-lab/.installed build ## a shell in an empty lab, to work on a scenario
	LAB=$(LAB) $(CACHE)/venv-lab/bin/python -m tests.lab shell --tarball $(TARBALL)
lab-needs:
	tools/lab_needs.sh

lint: $(VENV)/.gates ## all checks that run no code of ours
	$(RUN_STEPS) "$(MAKE)" $(LINT)
ruff: $(VENV)/.gates
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/ruff format --check --quiet .
mypy: $(VENV)/.gates collection
	$(BIN)/mypy
managed-node-code: $(VENV)/.run
	$(BIN)/python tools/check_managed_node_code.py
ansible-lint: $(VENV)/.gates collection
	$(BIN)/ansible-lint --profile production --nocolor -q
changelog-lint: $(VENV)/.gates
	$(BIN)/antsibull-changelog lint
workflow-lint: $(VENV)/.gates
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/yamllint --strict .github
# Each file by name: `reuse lint` asks git once what it ignores, and then finds what the tests beside it compile.
reuse: $(VENV)/.gates
	git -c safe.directory=* ls-files -z --cached --others --exclude-standard | xargs -0 $(BIN)/reuse lint-file
docs-lint: $(VENV)/.gates copy
	$(BIN)/antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=all $(COPY)
	$(BIN)/python tools/check_tables.py $(COPY)
galaxy-importer: $(VENV)/.gates build
	tools/galaxy_importer.sh $(VENV) $(TARBALL) $(CACHE)/galaxy-importer

unit: unit-plugins unit-agent unit-agent-lives unit-rest ## unit tests; the core must be covered fully
unit-plugins: $(VENV)/.test
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest tests/unit/$(CORE)
	$(BIN)/python -m coverage report --include '$(CORE)/*' --fail-under 100
	$(PYTEST) --ignore tests/unit/$(CORE) tests/unit/plugins

# Whole lives of the agent, killed at each of their points, and as a process: too long for the lane of its parts.
LIVES := $(patsubst %,tests/unit/$(AGENT)/test_%.py,advisory doubts faults kill manual service traps undo)
unit-agent-lives: $(VENV)/.test
	$(PYTEST) $(LIVES)
unit-agent: $(VENV)/.test
	$(PYTEST) $(addprefix --ignore ,$(LIVES)) tests/unit/$(AGENT)
unit-rest: $(VENV)/.test
	$(PYTEST) tests/unit --ignore tests/unit/plugins --ignore tests/unit/$(AGENT)

# Two steps, as one would end long after all others; without whole lives of the agent, whose parts are tested.
unit-oldest-python unit-oldest-agent: export TEST_ALL :=
unit-oldest-python unit-oldest-agent: $(VENV)/.run
	tools/test_on_oldest_python.sh $(CACHE) -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)
unit-oldest-python: TESTS := $(addprefix tests/unit/plugins/module_utils/,scheduled_events maintenance_policy connections files haproxy)
unit-oldest-agent: TESTS := tests/unit/$(AGENT) $(addprefix --ignore ,$(LIVES)) -k "not kill"

integration: $(VENV)/.test ## integration tests
	$(PYTEST) tests/integration
$(filter-out integration-arm integration-modules integration-playbooks,$(INTEGRATION)): integration-%: $(VENV)/.test
	$(PYTEST) tests/integration/$*
integration-handle-events: $(VENV)/.test
	$(PYTEST) $(PLAYBOOKS)/test_handle_events.py

integration integration-haproxy: haproxy
integration integration-fleets: haproxy nginx
integration integration-awx: awx-collection
integration integration-rulebooks: rulebook
haproxy nginx:
	tools/find_server.sh $@ $(CACHE)/$@
rulebook:
	python=$$(tools/find_python.sh $(PYTHON)) && tools/make_rulebook_venv.sh "$$python" $(CACHE)/venv-rulebook requirements/rulebook.txt
awx-collection: $(VENV)/.test
	tools/get_awx_collection.sh $(BIN)/python requirements/awx.txt $(CACHE)/awx

# Playbooks have failed on the oldest ansible-core only, which evaluates variables earlier: these are tested there, but for
# handle_events. What a newer one refuses or deprecates shows first in what users write: modules, lookups and their
# examples, and hostile hosts. Without a Python for it, all but integration-newest take that of this environment.
ON_OTHER_CORE := integration-playbooks integration-control-plane integration-arm integration-modules integration-newest
CONTROL_PLANE := $(patsubst %,$(PLAYBOOKS)/test_%.py,ask_azure handle_os_upgrades redeploy_early prepare_for_updates)
$(ON_OTHER_CORE): $(VENV)/.test
	$(OTHERWISE) tools/on_other_core.sh $(CORE_VERSION) $(CACHE) @python -m pytest -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)
$(filter-out integration-newest,$(ON_OTHER_CORE)): OTHERWISE := OTHERWISE=$(VENV)
integration-playbooks integration-control-plane integration-arm: CORE_VERSION := oldest
integration-modules integration-newest: CORE_VERSION := newest
integration-playbooks: TESTS := $(PLAYBOOKS) $(addprefix --ignore ,$(PLAYBOOKS)/test_handle_events.py $(CONTROL_PLANE))
integration-control-plane: TESTS := $(CONTROL_PLANE)
integration-arm: TESTS := tests/integration/arm
# What many an ansible.cfg sets: before ansible-core 2.19, templates make numbers of text then.
integration-control-plane integration-arm: export ANSIBLE_JINJA2_NATIVE := 1
integration-modules: TESTS := tests/integration/modules
integration-newest: TESTS := $(addprefix $(PLAYBOOKS)/,test_hostile.py test_windows_hosts.py)

# What PowerShell runs on Windows VMs, with the newest ansible-core, which runs such modules on Linux too.
windows: $(VENV)/.run
	tools/test_windows.sh $(CACHE)
wine: $(VENV)/.test ## the agent on Windows, under Wine, as root on Debian or Ubuntu
	tools/test_wine.sh $(CACHE)

sanity: $(VENV)/.run copy ## ansible-test's sanity tests
	tools/sanity.sh $(VENV) $(CACHE)/ansible-test
# Of what is shipped; the rest is for ruff and mypy. Each in a copy of its own, where ansible-test leaves things. empty-init
# of ansible-core 2.16, which newer ones have no more, wants a package of module_utils to be without a docstring.
sanity-oldest: SKIP := --skip-test empty-init $(if $(filter sampled,$(ALL)),--skip-test pylint)
sanity-oldest sanity-newest: sanity-%: $(VENV)/.run
	$(BIN)/python tools/copy_collection.py $(subst /ansible-test/,/ansible-test-$*/,$(COPY))
	tools/on_other_core.sh $* $(CACHE) tools/sanity.sh @venv $(CACHE)/ansible-test-$* $(SKIP) --exclude tests/ --exclude tools/

docs: $(VENV)/.gates collection ## the site, with guides, modules, roles and playbooks, in dist/docs
	$(BIN)/python tools/build_docs.py $(CACHE)/docs dist/docs
changelog: $(VENV)/.gates ## bring CHANGELOG.md up to date with changelogs/fragments
	$(BIN)/antsibull-changelog release --update-existing --refresh --reload-plugins
requirements: $(CACHE)/venv-uv/.installed ## write requirements/*.txt anew from *.in (UPGRADE=1: with the newest versions)
	tools/lock_requirements.sh $(CACHE)/venv-uv/bin/uv $(if $(UPGRADE),--upgrade)

build: $(VENV)/.run copy ## the collection's tarball and what is in it (CycloneDX), in dist (RELEASE=1: it must name its source)
	$(BIN)/python tools/build_collection.py $(COPY) dist $(if $(RELEASE),--release)
environments: $(VENV)/.test build ## the images of docs/execution_environment.md, as root on Debian or Ubuntu with podman
	$(BIN)/python tools/build_environments.py $(TARBALL) $(CACHE)/environments
bench: $(VENV)/.run collection ## all benchmarks, one after the other
	tools/bench.sh $(BIN)/python
clean: ## remove whatever was installed or made
	rm -rf $(CACHE) .ansible dist tests/output

collection: $(VENV)/.run
	$(BIN)/python tools/link_collection.py
copy: $(VENV)/.run
	$(BIN)/python tools/copy_collection.py $(COPY)

# What tests need comes on top of what a run needs, and what lints need on top of that.
$(VENV)/.gates: $(VENV)/.test
$(VENV)/.test: $(VENV)/.run
$(VENV)/.test $(VENV)/.gates: $(VENV)/.%: requirements/%.txt
	tools/make_venv.sh - $(VENV) requirements/$*.txt
	touch $@
$(VENV)/.run: requirements/run.txt
$(OTHER_VENVS): $(CACHE)/venv-%/.installed: requirements/%.txt
$(VENV)/.run $(OTHER_VENVS):
	python=$$(tools/find_python.sh $(PYTHON)) && tools/make_venv.sh "$$python" $(@D) $<
	touch $@
