# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options of everything that asks Azure Resource Manager (ARM)."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  auth_source:
    description:
      - Source of the credentials. If not set, E(ANSIBLE_AZURE_AUTH_SOURCE) is used, else V(auto).
      - V(auto) uses the first available source, in the order of the collection azure.azcollection. These are the
        options of the task (O(profile) or O(client_id)), the environment (E(AZURE_PROFILE) or E(AZURE_CLIENT_ID)), the
        profile C(default) of C(~/.azure/credentials), and the login of the Azure CLI. The result names the source.
      - V(env) uses environment variables, with the names of azure.azcollection (E(AZURE_CLIENT_ID), E(AZURE_SECRET),
        E(AZURE_TENANT), E(AZURE_SUBSCRIPTION_ID), E(AZURE_CLOUD_ENVIRONMENT), which Ansible Automation Platform and AWX
        inject) or of azure-identity (E(AZURE_CLIENT_SECRET), E(AZURE_TENANT_ID), E(AZURE_CLIENT_CERTIFICATE_PATH),
        E(AZURE_FEDERATED_TOKEN_FILE)).
      - V(credential_file) uses O(profile) of C(~/.azure/credentials).
      - V(cli) uses the login of C(az login).
      - User name and password (E(AZURE_AD_USER), C(ad_user)) are refused, because Azure requires multifactor
        authentication for users.
      - V(msi) uses the managed identity of the Azure VM that runs the task. If the VM has several, set O(client_id).
    type: str
    choices: [auto, cli, credential_file, env, msi]
  profile:
    description:
      - The section of C(~/.azure/credentials), with the keys C(subscription_id), C(client_id), C(secret), C(tenant).
      - If not set, E(AZURE_PROFILE) is used, else C(default).
    type: str
  subscription_id:
    description:
      - The subscription of the resources.
      - If not set, the subscription of the credentials is used, then E(AZURE_SUBSCRIPTION_ID), then the only
        subscription that the identity can see. The choice of C(az account set) has lower priority than
        E(AZURE_SUBSCRIPTION_ID).
    type: str
  client_id:
    description: The client id of the service principal, or of the managed identity with O(auth_source=msi).
    type: str
  secret:
    description: The secret of the service principal.
    type: str
  tenant:
    description: The tenant of the service principal.
    type: str
  x509_certificate_path:
    description: A PEM file with the service principal's certificate and private key, instead of O(secret).
    type: path
  thumbprint:
    description: The SHA-1 thumbprint that the certificate must have.
    type: str
  federated_token_file:
    description:
      - A file with a token of another identity provider that the service principal trusts, instead of O(secret).
      - If not set, E(AZURE_FEDERATED_TOKEN_FILE) is used with O(auth_source=env).
    type: path
  cloud_environment:
    description:
      - V(AzureCloud), V(AzureUSGovernment), V(AzureChinaCloud), or the address of another cloud's ARM, as
        V(https://HOST[:PORT]), which provides the address of the sign-in service.
      - If not set, the cloud of the credentials is used (for the Azure CLI, that of the subscription), then
        E(AZURE_CLOUD_ENVIRONMENT), then V(AzureCloud).
    type: str
  adfs_authority_url:
    description:
      - Address of the sign-in service, instead of the cloud's own.
      - If not set, E(AZURE_ADFS_AUTHORITY_URL) or E(AZURE_AUTHORITY_HOST) is used.
    type: str
  base_url:
    description:
      - Address of ARM, instead of the cloud's own, as V(https://HOST[:PORT]).
      - Plain C(http) is accepted only for this machine (C(127.0.0.0/8), C(::1), C(localhost)), for a simulator.
      - If not set, E(FOGHORN_ARM_BASE_URL) is used.
    type: str
  disable_instance_discovery:
    description:
      - Do not verify O(adfs_authority_url) with Microsoft, for controllers that cannot reach it. Authorities other than
        Microsoft's are never verified.
      - If not set, E(AZURE_DISABLE_INSTANCE_DISCOVERY) is used, then V(false).
    type: bool
  cert_validation_mode:
    description:
      - Set to V(ignore) to accept any certificate.
      - If not set, E(AZURE_CERT_VALIDATION_MODE) is used, then V(validate).
    type: str
    choices: [validate, ignore]
  timeout:
    description:
      - Seconds for the whole module, including all retries and waits.
      - Above 0, up to 86400.
    type: float
    default: 1800
  api_profile:
    description: Ignored, with a warning. Accepted so that credentials can be shared with azure.azcollection.
    type: str
  log_mode:
    description: Ignored, with a warning. Accepted so that credentials can be shared with azure.azcollection.
    type: str
  log_path:
    description: Ignored, with a warning. Accepted so that credentials can be shared with azure.azcollection.
    type: str
  ad_user:
    description: Refused, because Azure requires multifactor authentication for users.
    type: str
  password:
    description: Refused, as O(ad_user) is.
    type: str
notes:
  - All modules that ask ARM run on the controller. Delegate them to C(localhost).
  - Retries requests that Azure throttles (429) or answers with a 5xx error, after the time that Azure names. Requests
    that must not run twice, such as a redeployment, are not repeated if Azure may have begun them.
requirements:
  - python >= 3.10
  - azure-identity >= 1.16.1
  - azure-mgmt-core >= 1.4.0
  - requests >= 2.31.0
"""

    TARGET = r"""
options:
  id:
    description:
      - The resource id of the machine, instead of all other options that name it. It is C(compute.resourceId) of the
        metadata service, and C(id) in azure.azcollection's inventory.
    type: str
  resource_group:
    description: The resource group of O(name) or O(scale_set).
    type: str
  name:
    description: The name of a standalone VM or of a member of a flexible scale set. Needs O(resource_group).
    type: str
  scale_set:
    description: The name of a uniform scale set. Needs O(resource_group) and O(instance_id).
    type: str
  instance_id:
    description: The id of the instance in O(scale_set).
    type: str
"""

    SCALE_SET = r"""
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  name:
    description: The name of the scale set.
    type: str
    required: true
"""

    PLACES = r"""
options:
  subscriptions:
    description:
      - Ids of the subscriptions to search.
      - If not set, O(subscription_id).
    type: list
    elements: str
  management_group:
    description:
      - The id of a management group, C(shop) in C(/providers/Microsoft.Management/managementGroups/shop). All
        subscriptions below it, at any depth, replace O(subscriptions).
      - Azure Resource Graph provides the list of subscriptions, which needs the role Reader on the group. A group
        without visible subscriptions is an error.
    type: str
"""

    NOTIFICATION = r"""
options:
  resource_group:
    description: The resource group.
    type: str
    required: true
  state:
    description:
      - Whether deletions are announced.
      - A notification that exists but is disabled counts as disabled, whatever its timeout.
    type: str
    choices: [enabled, disabled]
    default: enabled
  not_before_timeout:
    description:
      - Notice of a deletion, from 5 to 15 minutes, as V(PT5M), V(5m), V(00:05:00), or the number of minutes.
      - If not set, the current notice stays. If there is none, it becomes 5 minutes.
      - Has no meaning with O(state=disabled).
    type: str
  os_image_notification:
    description:
      - Whether OS image upgrades are announced, always 15 minutes ahead. Azure does so only for general-purpose sizes.
      - If not set, it stays as it is.
    type: bool
  wait:
    description: Wait until Azure has completed the change, and read it back.
    type: bool
    default: true
"""

    RECORD = r"""
options:
  record:
    description:
      - The record of the machine that is changed, on the host that runs the task. The module writes it before it
        changes anything in Azure, and keeps what is written there. If it cannot be written, nothing is changed.
      - The module does not remove it. Remove RV(records) once the machine is back.
    type: dict
    suboptions:
      directory:
        description: Where records are, one file for each machine. Created if missing. No other user, apart from a group
          that shares it, may be able to change it or a directory above it.
        type: path
        required: true
      name:
        description: The machine's name.
        type: str
        required: true
      machine:
        description: Its id, 32 hexadecimal digits, which finds its record if it has another name meanwhile.
        type: str
        default: ""
  record_only:
    description:
      - Only write the record, so that a copy can be kept before anything is changed. With O(as_recorded), only read it.
      - Needs O(record).
    type: bool
    default: false
  as_recorded:
    description: Restore what is written down in O(record), which it needs. Without a record nothing is changed.
    type: bool
    default: false
"""
