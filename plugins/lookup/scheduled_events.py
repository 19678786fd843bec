# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup scheduled_events."""

from __future__ import annotations

DOCUMENTATION = r"""
name: scheduled_events
short_description: Look up the maintenance that Azure has announced
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Returns the scheduled events that hit any of the named VMs, as the module
    M(foghorn.azure_events.scheduled_events_info) returns them, in order of urgency.
  - Lookups run on the controller. With O(source=imds), the controller is an Azure VM and sees its own events and those
    of its availability set or placement group.
  - With O(source=resource_graph), it sees the events of whole subscriptions, from anywhere, for resources whose policy
    publishes events, see M(foghorn.azure_events.scheduled_events_policy). The sign-in needs the role C(Scheduled Events
    Contributor); without it Azure returns no events. A VM that Resource Graph does not know is an error.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.imds.affecting
  - foghorn.azure_events.filters
  - foghorn.azure_events.azure
  - foghorn.azure_events.azure.places
options:
  _terms:
    description:
      - Names of VMs in Azure, compared without case. Without names, the events of all VMs.
      - With O(source=resource_graph), also ids of VMs. A name that several VMs have is refused.
    type: list
    elements: str
  source:
    description:
      - Source of the events. V(imds) is the metadata service of the controller itself, V(resource_graph) is Azure
        Resource Graph.
      - The options O(endpoint), O(api_version), O(connect_timeout), O(vm_name) and O(affecting) belong to V(imds).
        Those of the sign-in, O(subscriptions), O(management_group), O(resource_group), O(finished) and
        O(inventory_variable) belong to V(resource_graph).
    type: str
    choices: [imds, resource_graph]
    default: imds
  subscriptions:
    description:
      - Ids of the subscriptions to read.
      - If not set, O(subscription_id), or the subscriptions in O(_terms) if these are all ids.
      - If these are not set either, all subscriptions that the sign-in may see.
    type: list
    elements: str
  resource_group:
    description: Only events of this resource group. By default, all resource groups of the subscriptions.
    type: str
  finished:
    description:
      - Also return events that are over, with the statuses V(Completed) and V(Canceled).
      - Events with a status in O(event_statuses) are returned in any case.
    type: bool
    default: false
  inventory_variable:
    description:
      - The inventory variable that contains the name or id of a host's VM in Azure. It joins events with hosts in
        RV(_raw). The inventory plugin C(azure.azcollection.azure_rm) sets C(id).
      - Names may not be unique, ids are. A host with only a name is refused if events hit VMs of that name in several
        resource groups.
      - A host without this variable has its inventory name.
    type: str
    default: azure_vm_name
  timeout:
    description:
      - Seconds within which the answer must arrive, for all requests and retries together.
      - Above 0, up to 86400.
    type: float
    default: 150
  query:
    description:
      - A JMESPath expression over the list of events. Its result replaces the list.
      - Needs the Python library C(jmespath) on the controller.
    type: str
  endpoint:
    env:
      - name: FOGHORN_IMDS_ENDPOINT
requirements:
  - jmespath >= 1.0.1
notes:
  - C(jmespath) is required only for O(query). C(azure-identity), C(azure-mgmt-core) and C(requests) are required only
    for O(source=resource_graph).
seealso:
  - module: foghorn.azure_events.scheduled_events_info
  - name: JMESPath
    description: The query language.
    link: https://jmespath.org
"""

EXAMPLES = r"""
- name: Go on only if nothing is announced for this VM
  ansible.builtin.assert:
    that: query('foghorn.azure_events.scheduled_events', affecting='this_vm') | length == 0

- name: Show what will hit two VMs of the controller's availability set
  ansible.builtin.debug:
    msg: "{{ query('foghorn.azure_events.scheduled_events', 'web_0', 'web_1', event_statuses=['Scheduled']) }}"

- name: Name the VMs that will be restarted
  ansible.builtin.debug:
    msg: "{{ query('foghorn.azure_events.scheduled_events', query=restarted) }}"
  vars:
    restarted: "[?event_type=='Reboot' || event_type=='Redeploy'].resources[]"

- name: Make a group of the hosts in the inventory that anything in the subscription is announced for
  ansible.builtin.add_host:
    name: "{{ item }}"
    groups: [announced]
  loop: >-
    {{ query('foghorn.azure_events.scheduled_events', source='resource_graph')
    | map(attribute='inventory_hosts') | flatten | unique }}
"""

RETURN = r"""
_raw:
  description:
    - The events, each with the keys of RV(foghorn.azure_events.scheduled_events_info#module:events). "This VM" is the
      VM of O(vm_name), by default the controller.
    - With O(source=resource_graph), events lack C(affects_this_vm) and C(this_vm_leads), and have C(resource_id),
      C(location), C(zones) and C(inventory_hosts), the inventory names of the hosts that they hit.
    - With O(query), the result of the expression. A result that is not a list becomes a list of one element, and
      V(null) an empty list.
  type: list
  elements: raw
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleLookupError, AnsibleOptionsError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, MissingLibrary
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.inventory import look_up
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.resource_graph import LISTED_STATUSES
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import (
    DocumentError,
    ImdsError,
    OptionError,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import (
    EVENT_STATUSES,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.operations import (
    list_events,
    open_client,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.options import read_connection
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import (
    read_selection,
    warnings_for,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.words import read_vm_names


class LookupModule(LookupBase):
    """Looks up scheduled events."""

    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[Any]:
        """Return the events that hit any of the VMs in `terms`, or the result of the query on them."""
        try:
            self.set_options(var_options=variables, direct=kwargs)
            options = self.get_options()
            _refuse_unknown(kwargs, options)
            expression = _compile(options["query"])
            connection = read_connection(options)
            is_graph = options["source"] == "resource_graph"
            selection = read_selection(options, LISTED_STATUSES if is_graph else EVENT_STATUSES)
            for warning in warnings_for(options):
                Display().warning(warning)
            vm_names = read_vm_names(self._flatten(terms))
            if is_graph:
                hosts = (variables or {}).get("hostvars") or {}
                events = look_up(options, selection, vm_names, hosts, Display().warning)
            else:
                with open_client(connection) as client:
                    events = list_events(client, connection, selection, vm_names).events
        except (AnsibleOptionsError, OptionError, DocumentError, ImdsError, ArmError) as error:
            raise AnsibleLookupError("scheduled_events: %s" % error) from error
        except MissingLibrary as error:
            raise AnsibleLookupError("scheduled_events: source: resource_graph needs %s" % error) from error
        return events if expression is None else _search(expression, events)


def _refuse_unknown(given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    # Ansible accepts a misspelt option, and a filter that does not filter would return everything.
    for name, value in given.items():
        if name not in options:
            raise OptionError(
                "%s: %r is for no option of this lookup. Give one of %s" % (name, value, ", ".join(options))
            )


def _compile(query: str | None) -> Any:
    if query is None:
        return None
    try:
        import jmespath
    except ImportError as error:
        raise OptionError(
            "query: needs the Python library jmespath on the controller. Install it, or leave query out"
        ) from error
    try:
        return jmespath.compile(query)
    except (jmespath.exceptions.JMESPathError, ValueError) as error:
        raise OptionError("query: %r is not a JMESPath expression: %s" % (query, error)) from error


def _search(expression: Any, events: list[Any]) -> list[Any]:
    import jmespath

    try:
        found = expression.search(events)
    except jmespath.exceptions.JMESPathError as error:
        raise AnsibleLookupError("scheduled_events: query: %s" % error) from error
    if found is None:
        return []
    return found if isinstance(found, list) else [found]
