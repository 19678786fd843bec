# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# Everything that is installed or made goes below .cache, but for what `make build` makes, in dist, and what `make lab`
# installs and keeps of the system (docs/lab.md).
# `make PYTHON=…` chooses the Python (3.11 or newer) of the virtual environments.

CACHE := .cache
VENV := $(CACHE)/venv
VENV_LAB := $(CACHE)/venv-lab
VENV_RULEBOOK := $(CACHE)/venv-rulebook
VENV_UV := $(CACHE)/venv-uv
BIN := $(VENV)/bin
COPY := $(CACHE)/ansible-test/ansible_collections/foghorn/azure_events
# ansible-test leaves things in the copy: one for each that runs at the same time.
COPY_FOR_OTHER = $(CACHE)/ansible-test-$*/ansible_collections/foghorn/azure_events
VERSION = $(shell sed -n 's/^version: *//p' galaxy.yml)
TARBALL = dist/foghorn-azure_events-$(VERSION).tar.gz
CORE := plugins/module_utils/scheduled_events
AGENT := roles/handler_agent
DEMONSTRATION := roles/azure_simulator/files/demonstration
HANDLER ?= on
BALANCER ?= azure
SPEED ?=
WATCH ?=
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
# What depends on versions: the oldest and the newest ansible-core that are supported, the Pythons of VMs.
VERSIONS := unit-oldest-agent unit-oldest-python integration-newest sanity-oldest sanity-newest
# Without ALL: what a change breaks first, and one fleet whole. With it, in CI, everything.
QUICK := ruff mypy managed-node-code reuse integration-readme -- integration-handle-events -- unit-agent -- \
  unit-plugins -- ++ unit-agent-lives unit-rest
# Lanes side by side, more than twice as many as the cores of a small machine: many a test waits more than it works. The
# first is for the lint, some of which works on the copy of the collection; what follows `++` goes to the lane that is
# free, what takes longest first. The playbooks' tests are two steps, for one alone would take longer than any lane.
POOL := unit-agent-lives integration-control-plane integration-demo integration-fleets integration-modules \
  integration-arm unit-plugins integration-agent unit-rest integration-readme integration-rulebooks
STEPS := $(LINT) -- integration-playbooks -- integration-handle-events -- unit-agent -- windows wine -- \
  ++ $(VERSIONS) $(POOL) $(filter-out integration-playbooks $(POOL),$(INTEGRATION))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo picture test lab lab-shell lab-needs lint test-versions unit integration sanity requirements docs changelog build environments bench clean $(filter-out -- ++,$(STEPS)) $(VERSIONS) venv collection copy haproxy nginx awx-collection rulebook

help: ## show this list
	@sed -n 's/^\([a-z][a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

demo: $(VENV)/.run collection ## a simulated fleet through maintenance under traffic (HANDLER=off: without us; BALANCER=haproxy; SPEED=5; WATCH=1: live in a browser)
	@$(BIN)/python $(DEMONSTRATION)/demo.py --handler $(HANDLER) --balancer $(BALANCER) $(if $(SPEED),--speed $(SPEED)) $(if $(WATCH),--watch) --picture dist/demo.svg

picture: $(VENV)/.test collection ## the pictures in docs: drawn from two runs of the demo, without a handler and with it; taken by a browser
	@$(BIN)/python $(DEMONSTRATION)/demo.py --record $(CACHE)/demo-on.json
	@$(BIN)/python $(DEMONSTRATION)/demo.py --handler off --like $(CACHE)/demo-on.json --record $(CACHE)/demo-off.json
	@$(BIN)/python $(DEMONSTRATION)/picture.py docs/demo.svg $(CACHE)/demo-off.json $(CACHE)/demo-on.json
	@SCREENSHOTS=docs BROWSER_TESTS=required $(BIN)/python -m pytest tests/integration/browser

test: $(VENV)/.gates ## what to run before a commit, without root (TEST=tests/unit/…: only these; ALL=sampled: everything, as CI does; ALL=1: and exhaustive tests in full)
	@$(BIN)/python $(if $(TEST),-m pytest $(TEST),tools/run_steps.py "$(MAKE)" $(if $(ALL),$(STEPS),$(QUICK)))

venv: $(VENV)/.gates collection ## what the tests and the lint need, in .cache/venv

test-versions: $(VENV)/.run ## sanity tests, modules and agent, on the oldest and the newest versions that are supported
	@$(BIN)/python tools/run_steps.py "$(MAKE)" -- ++ $(VERSIONS)

lab: lab-needs $(VENV_LAB)/.lab build ## real machines, as root on Debian or Ubuntu (SCENARIO="agent reboot": only these)
	@LAB=$(LAB) $(VENV_LAB)/bin/python -m tests.lab run --tarball $(TARBALL) $(SCENARIO)

lab-shell: lab-needs $(VENV_LAB)/.lab build ## a shell in an empty lab, to work on a scenario
	@LAB=$(LAB) $(VENV_LAB)/bin/python -m tests.lab shell --tarball $(TARBALL)

lab-needs:
	@tools/lab_needs.sh

lint: $(VENV)/.gates ## all checks that run no code of ours
	@$(BIN)/python tools/run_steps.py "$(MAKE)" $(LINT)

ruff: $(VENV)/.gates
	@$(BIN)/ruff check --quiet --output-format concise .
	@$(BIN)/ruff format --check --quiet .

mypy: $(VENV)/.gates collection
	@$(BIN)/mypy

managed-node-code: $(VENV)/.run
	@$(BIN)/python tools/check_managed_node_code.py

ansible-lint: $(VENV)/.gates collection
	@$(BIN)/ansible-lint --profile production --nocolor -q

changelog-lint: $(VENV)/.gates
	@$(BIN)/antsibull-changelog lint

workflow-lint: $(VENV)/.gates
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(BIN)/yamllint --strict .github

# Each file by name: `reuse lint` asks git once what it ignores, and then finds what the tests beside it compile.
reuse: $(VENV)/.gates
	@git -c safe.directory=* ls-files -z --cached --others --exclude-standard | xargs -0 $(BIN)/reuse lint-file

docs-lint: $(VENV)/.gates copy
	@$(BIN)/antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=all $(COPY)
	@$(BIN)/python tools/check_tables.py $(COPY)

galaxy-importer: $(VENV)/.gates build
	@tools/galaxy_importer.sh $(VENV) $(TARBALL) $(CACHE)/galaxy-importer

unit: unit-plugins unit-agent unit-agent-lives unit-rest ## unit tests; the core must be covered fully

unit-plugins: $(VENV)/.test
	@$(BIN)/python -m coverage erase
	@$(BIN)/python -m coverage run -m pytest tests/unit/$(CORE)
	@$(BIN)/python -m coverage report --include '$(CORE)/*' --fail-under 100
	@$(BIN)/python -m pytest --ignore tests/unit/$(CORE) tests/unit/plugins

# Whole lives of the agent, killed at each of their points, and as a process: for one lane it would be too long together with
# its parts.
LIVES := $(patsubst %,tests/unit/$(AGENT)/test_%.py,advisory doubts faults kill manual service traps undo)
unit-agent-lives: $(VENV)/.test
	@$(BIN)/python -m pytest $(LIVES)

unit-agent: $(VENV)/.test
	@$(BIN)/python -m pytest $(addprefix --ignore ,$(LIVES)) tests/unit/$(AGENT)

unit-rest: $(VENV)/.test
	@$(BIN)/python -m pytest tests/unit --ignore tests/unit/plugins --ignore tests/unit/$(AGENT)

# Two steps, as one would end long after all others; without whole lives of the agent, whose parts are tested.
unit-oldest-python unit-oldest-agent: export TEST_ALL :=
unit-oldest-python unit-oldest-agent: $(VENV)/.run
	@tools/test_on_oldest_python.sh $(CACHE) -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)
unit-oldest-python: TESTS := $(addprefix tests/unit/plugins/module_utils/,scheduled_events maintenance_policy connections files haproxy)
unit-oldest-agent: TESTS := tests/unit/$(AGENT) $(addprefix --ignore ,$(LIVES)) -k "not kill"

integration: $(VENV)/.test ## integration tests
	@$(BIN)/python -m pytest tests/integration

integration integration-haproxy: haproxy
integration integration-fleets: haproxy nginx
integration integration-awx: awx-collection
integration integration-rulebooks: rulebook

rulebook:
	@python=$$(tools/find_python.sh $(PYTHON)) && tools/make_rulebook_venv.sh "$$python" $(VENV_RULEBOOK) requirements/rulebook.txt

haproxy:
	@tools/find_server.sh haproxy $(CACHE)/haproxy

nginx:
	@tools/find_server.sh nginx $(CACHE)/nginx

awx-collection: $(VENV)/.test
	@tools/get_awx_collection.sh $(BIN)/python requirements/awx.txt $(CACHE)/awx

$(filter-out integration-arm integration-modules integration-playbooks,$(INTEGRATION)): integration-%: $(VENV)/.test
	@$(BIN)/python -m pytest tests/integration/$*

# What PowerShell runs on Windows VMs, with the newest ansible-core, which runs such modules on Linux too.
windows: $(VENV)/.run
	@tools/test_windows.sh $(CACHE)

wine: $(VENV)/.test ## the agent on Windows, under Wine, as root on Debian or Ubuntu
	@tools/test_wine.sh $(CACHE)

PLAYBOOK_TESTS := tests/integration/playbooks
HANDLE_EVENTS := $(PLAYBOOK_TESTS)/test_handle_events.py
# Those that begin with what Azure Resource Manager says.
CONTROL_PLANE := $(patsubst %,$(PLAYBOOK_TESTS)/test_%.py,ask_azure handle_os_upgrades redeploy_early prepare_for_updates)
# Playbooks have failed on the oldest ansible-core only, which evaluates variables earlier: these are tested there; modules,
# and hostile hosts as well, on the newest; events and the other rooms on that of this environment.
integration-playbooks integration-control-plane integration-arm: $(VENV)/.test
	@OTHERWISE=$(VENV) tools/on_other_core.sh oldest $(CACHE) @python -m pytest -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)
integration-playbooks: TESTS := $(PLAYBOOK_TESTS) $(addprefix --ignore ,$(HANDLE_EVENTS) $(CONTROL_PLANE))
integration-control-plane: TESTS := $(CONTROL_PLANE)
# What many an ansible.cfg sets: before ansible-core 2.19, templates make numbers of text then.
integration-control-plane integration-arm: export ANSIBLE_JINJA2_NATIVE := 1
integration-arm: TESTS := tests/integration/arm
integration-handle-events: $(VENV)/.test
	@$(BIN)/python -m pytest $(HANDLE_EVENTS)

# What a newer ansible-core refuses or deprecates shows first in what users write: modules, lookups and their examples.
integration-modules integration-newest: $(VENV)/.test
	@$(OTHERWISE) tools/on_other_core.sh newest $(CACHE) @python -m pytest -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)
integration-modules: OTHERWISE := OTHERWISE=$(VENV)
integration-modules: TESTS := tests/integration/modules
integration-newest: TESTS := $(addprefix $(PLAYBOOK_TESTS)/,test_hostile.py test_windows_hosts.py)

# Of ansible-core 2.16 without empty-init: that test, which newer ones have no more, wants a package of module_utils to
# be without a docstring.
# `make test ALL=sampled` has pylint on the newest only.
sanity-oldest: SKIP := --skip-test empty-init $(if $(filter sampled,$(ALL)),--skip-test pylint)
# What is shipped; the rest is for ruff and mypy.
SHIPPED := --exclude tests/ --exclude tools/
sanity-oldest sanity-newest: sanity-%: $(VENV)/.run
	@$(BIN)/python tools/copy_collection.py $(COPY_FOR_OTHER)
	@tools/on_other_core.sh $* $(CACHE) tools/sanity.sh @venv $(CACHE)/ansible-test-$* $(SKIP) $(SHIPPED)

sanity: $(VENV)/.run copy ## ansible-test's sanity tests
	@tools/sanity.sh $(VENV) $(CACHE)/ansible-test

docs: $(VENV)/.gates collection ## the site, with guides, modules, roles and playbooks, in dist/docs
	@$(BIN)/python tools/build_docs.py $(CACHE)/docs dist/docs

changelog: $(VENV)/.gates ## bring CHANGELOG.md up to date with changelogs/fragments
	@$(BIN)/antsibull-changelog release --update-existing --refresh --reload-plugins

requirements: $(VENV_UV)/.uv ## write requirements/*.txt anew from *.in (UPGRADE=1: with the newest versions)
	@tools/lock_requirements.sh $(VENV_UV)/bin/uv $(if $(UPGRADE),--upgrade)

build: $(VENV)/.run copy ## the collection's tarball and what is in it (CycloneDX), in dist (RELEASE=1: it must name its source)
	@$(BIN)/python tools/build_collection.py $(COPY) dist $(if $(RELEASE),--release)

environments: $(VENV)/.test build ## the images of docs/execution_environment.md, as root on Debian or Ubuntu with podman
	@$(BIN)/python tools/build_environments.py $(TARBALL) $(CACHE)/environments

bench: $(VENV)/.run collection ## all benchmarks, one after the other
	@tools/bench.sh $(BIN)/python

clean: ## remove whatever was installed or made
	rm -rf $(CACHE) .ansible dist tests/output

collection: $(VENV)/.run
	@$(BIN)/python tools/link_collection.py

copy: $(VENV)/.run
	@$(BIN)/python tools/copy_collection.py $(COPY)

$(VENV)/.run: requirements/run.txt
	@python=$$(tools/find_python.sh $(PYTHON)) && tools/make_venv.sh "$$python" $(VENV) $<
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run
	@tools/make_venv.sh - $(VENV) $<
	@touch $@

$(VENV)/.gates: requirements/gates.txt $(VENV)/.test
	@tools/make_venv.sh - $(VENV) $<
	@touch $@

$(VENV_LAB)/.lab: requirements/lab.txt
	@python=$$(tools/find_python.sh $(PYTHON)) && tools/make_venv.sh "$$python" $(VENV_LAB) $<
	@touch $@

$(VENV_UV)/.uv: requirements/uv.txt
	@python=$$(tools/find_python.sh $(PYTHON)) && tools/make_venv.sh "$$python" $(VENV_UV) $<
	@touch $@
