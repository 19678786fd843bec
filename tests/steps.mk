# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# The steps of `make test` and `make lint`, each a target: `make unit-agent` runs one alone.

# What takes longest comes first.
LINT := ansible-lint mypy galaxy-importer docs-lint ruff reuse changelog-lint workflow-lint managed-node-code
UNIT := unit-agent unit-agent-lives unit-plugins unit-rest
# Each directory, and two parts of playbooks.
INTEGRATION := $(patsubst tests/integration/%/,integration-%,$(filter-out %/__pycache__/,$(wildcard tests/integration/*/))) \
  integration-handle-events integration-control-plane
# The oldest and the newest ansible-core that are supported, and the Pythons of VMs.
VERSIONS := sanity-oldest sanity-newest unit-oldest-agent unit-oldest-python integration-newest
QUICK := unit-agent integration-handle-events unit-agent-lives unit-plugins integration-readme unit-rest mypy reuse managed-node-code ruff
LONG := wine unit-agent-lives sanity-newest sanity-oldest integration-playbooks windows unit-oldest-agent unit-plugins integration-agent unit-rest \
  unit-agent integration-demo rulebook integration-haproxy integration-control-plane integration-handle-events ansible-lint \
  integration-modules integration-newest integration-readme integration-arm
STEPS := $(LONG) $(filter-out $(LONG),$(UNIT) $(INTEGRATION) $(VERSIONS) $(LINT))

# Under tools/side_by_side.sh, each command of a step says how long it took.
SHELL := bash
.SHELLFLAGS = -c $(if $(and $(TIMED),$@),'TIMEFORMAT="--- $@: %1R s; processors %1U + %1S s"; time eval "$$0"')

$(LINT): $(VENV)/.gates
ruff:
	ruff check --quiet --output-format concise .
	ruff format --check --quiet .
mypy: collection
	mypy
managed-node-code:
	python tools/check_managed_node_code.py
ansible-lint: collection
	ansible-lint --profile production --nocolor -q
changelog-lint:
	antsibull-changelog lint
workflow-lint:
	check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	yamllint --strict .github
# Each file by name: `reuse lint` asks git once what it ignores, and then finds what the tests beside it compile.
reuse:
	git -c safe.directory=* ls-files -z --cached --others --exclude-standard | xargs -0 reuse lint-file
docs-lint: copy
	antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=all $(COPY)
	python tools/check_tables.py $(COPY)
galaxy-importer: build
	tools/galaxy_importer.sh $(VENV) $(TARBALL) $(CACHE)/galaxy-importer

# The tests of each step.
AGENT := tests/unit/roles/handler_agent
CORE := plugins/module_utils/scheduled_events
PLAYBOOKS := tests/integration/playbooks
# Whole lives of the agent, killed at each of their points, and as a process, beside the tests of its parts.
LIVES := $(patsubst %,$(AGENT)/test_%.py,advisory doubts faults kill manual service traps undo)
SETUP := tests/integration/awx/test_controller_setup.py
CONTROL_PLANE := $(patsubst %,$(PLAYBOOKS)/test_%.py,ask_azure handle_os_upgrades redeploy_early prepare_for_updates)
unit-agent: TESTS := $(AGENT) $(addprefix --ignore ,$(LIVES))
unit-agent-lives: TESTS := $(LIVES)
unit-rest: TESTS := tests/unit --ignore tests/unit/plugins --ignore $(AGENT)
unit-oldest-agent: TESTS := $(AGENT) $(addprefix --ignore ,$(LIVES)) -k "not kill"
unit-oldest-python: TESTS := $(addprefix tests/unit/plugins/module_utils/,scheduled_events maintenance_policy connections files haproxy)
$(INTEGRATION): TESTS = tests/integration/$(@:integration-%=%)
integration-handle-events: TESTS := $(PLAYBOOKS)/test_handle_events.py
integration-control-plane: TESTS := $(CONTROL_PLANE)
integration-playbooks: TESTS := $(PLAYBOOKS) $(addprefix --ignore ,$(PLAYBOOKS)/test_handle_events.py $(CONTROL_PLANE)) $(SETUP)
integration-awx: TESTS := tests/integration/awx --ignore $(SETUP)
integration-newest: TESTS := $(addprefix $(PLAYBOOKS)/,test_failed_hosts.py test_hostile.py)

# Playbooks have failed on the oldest ansible-core only, which evaluates variables earlier. What a newer one refuses or
# deprecates shows first in what users write: modules, lookups and their examples, and hostile hosts. It also sends more
# hosts into a rescue, as by hand. Without a Python for that ansible-core, they take the one of this environment.
integration-playbooks integration-control-plane integration-arm: ON_CORE := oldest
integration-modules integration-newest: ON_CORE := newest
# What many an ansible.cfg sets: before ansible-core 2.19, templates make numbers of text then.
integration-control-plane integration-arm: export ANSIBLE_JINJA2_NATIVE := 1
# Few controllers are in UTC. In this form a zone needs no database.
$(INTEGRATION) integration-newest: export TZ := EAST-5:45
$(INTEGRATION) integration-newest unit-agent unit-agent-lives unit-rest: $(VENV)/.test
	$(if $(ON_CORE),OTHERWISE=$(VENV) tools/on_other_core.sh $(ON_CORE) $(CACHE) @python,python) -m pytest -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)

integration-haproxy: haproxy
integration-fleets: haproxy nginx
integration-awx integration-playbooks: awx-collection
integration-rulebooks: rulebook
haproxy nginx:
	tools/find_server.sh $@ $(CACHE)/$@
rulebook:
	python=$$(tools/find_python.sh $(PYTHON)) && tools/make_rulebook_venv.sh "$$python" $(CACHE)/venv-rulebook requirements/rulebook.txt
awx-collection: $(VENV)/.test
	tools/get_awx_collection.sh python requirements/awx.txt $(CACHE)/awx

unit: $(UNIT) ## unit tests; the core must be covered fully
unit-plugins: $(VENV)/.test
	python -m coverage run -m pytest tests/unit/$(CORE)
	python -m coverage report --include '$(CORE)/*' --fail-under 100
	python -m pytest --ignore tests/unit/$(CORE) tests/unit/plugins
# Without whole lives of the agent: its parts are tested.
unit-oldest-python unit-oldest-agent: export TEST_ALL :=
unit-oldest-python unit-oldest-agent: $(VENV)/.run
	tools/test_on_oldest_python.sh $(CACHE) -o cache_dir=$(CACHE)/pytest-$@ $(TESTS)

# What PowerShell runs on Windows VMs, with the newest ansible-core, which runs such modules on Linux too.
windows: $(VENV)/.run
	tools/test_windows.sh $(CACHE)
wine: $(VENV)/.test ## the agent on Windows, under Wine, as root on Debian or Ubuntu
	tools/test_wine.sh $(CACHE)

sanity: $(VENV)/.run copy ## ansible-test's sanity tests
	tools/sanity.sh $(VENV) $(CACHE)/ansible-test
# Of what is shipped; the rest is for ruff and mypy. Each in a copy of its own, where ansible-test leaves things. empty-init
# of ansible-core 2.16, which newer ones have no more, wants a package of module_utils to be without a docstring.
sanity-oldest: SKIP := --skip-test empty-init
sanity-oldest sanity-newest: sanity-%: $(VENV)/.run
	python tools/copy_collection.py $(subst /ansible-test/,/ansible-test-$*/,$(COPY))
	tools/on_other_core.sh $* $(CACHE) tools/sanity.sh @venv $(CACHE)/ansible-test-$* $(SKIP) --exclude tests/ --exclude tools/
