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
      - Where the credentials come from. If not set, E(ANSIBLE_AZURE_AUTH_SOURCE) is used, else V(auto).
      - V(auto) takes the first of these that is there, in the order of the collection azure.azcollection. The options
        of the task (O(profile) or O(client_id)), the environment (E(AZURE_PROFILE) or E(AZURE_CLIENT_ID)), the profile
        C(default) of C(~/.azure/credentials), the login of the Azure CLI. The result says which.
      - V(env) takes the environment, in azure.azcollection's spelling (E(AZURE_CLIENT_ID), E(AZURE_SECRET),
        E(AZURE_TENANT), E(AZURE_SUBSCRIPTION_ID), E(AZURE_CLOUD_ENVIRONMENT), as Ansible Automation Platform and AWX
        inject them) or in azure-identity's (E(AZURE_CLIENT_SECRET), E(AZURE_TENANT_ID),
        E(AZURE_CLIENT_CERTIFICATE_PATH), E(AZURE_FEDERATED_TOKEN_FILE)).
      - V(credential_file) takes O(profile) from C(~/.azure/credentials).
      - V(cli) takes the login of C(az login).
      - A person's name and password (E(AZURE_AD_USER), C(ad_user)) are refused, because Azure asks people for a second
        factor.
      - V(msi) takes the managed identity of the Azure VM that the task runs on, and O(client_id) if it has several.
    type: str
    choices: [auto, cli, credential_file, env, msi]
  profile:
    description:
      - The section of C(~/.azure/credentials) to take, which has the keys C(subscription_id), C(client_id),
        C(secret), C(tenant).
      - If not set, E(AZURE_PROFILE) is used, else C(default).
    type: str
  subscription_id:
    description:
      - The subscription of the resources.
      - If not set, the one that goes with the credentials is used, then E(AZURE_SUBSCRIPTION_ID), then the only one
        that the identity can see. The choice of C(az account set) comes after E(AZURE_SUBSCRIPTION_ID).
    type: str
  client_id:
    description: The service principal that signs in, or with O(auth_source=msi) the managed identity.
    type: str
  secret:
    description: The secret of the service principal.
    type: str
  tenant:
    description: The tenant of the service principal.
    type: str
  x509_certificate_path:
    description: A PEM file with the service principal's certificate and private key, in place of O(secret).
    type: path
  thumbprint:
    description: The SHA-1 thumbprint that the certificate must have.
    type: str
  federated_token_file:
    description:
      - A file with a token of another identity provider that the service principal trusts, in place of O(secret).
      - If not set, E(AZURE_FEDERATED_TOKEN_FILE) is used with O(auth_source=env).
    type: path
  cloud_environment:
    description:
      - V(AzureCloud), V(AzureUSGovernment), V(AzureChinaCloud), or the address of another cloud's ARM, as
        V(https://HOST[:PORT]), which then tells where to sign in.
      - If not set, what goes with the credentials is used (for the Azure CLI, the cloud of the subscription), then
        E(AZURE_CLOUD_ENVIRONMENT), then V(AzureCloud).
    type: str
  adfs_authority_url:
    description:
      - Where to sign in, in place of the cloud's own address.
      - If not set, E(AZURE_ADFS_AUTHORITY_URL) or E(AZURE_AUTHORITY_HOST) is used.
    type: str
  base_url:
    description:
      - Where ARM answers, in place of the cloud's own address, as V(https://HOST[:PORT]).
      - Plain C(http) is accepted for this machine only (C(127.0.0.0/8), C(::1), C(localhost)), for a simulator.
      - If not set, E(FOGHORN_ARM_BASE_URL) is used.
    type: str
  disable_instance_discovery:
    description:
      - Do not ask Microsoft whether O(adfs_authority_url) is one of its own, for controllers that cannot reach it.
        An authority that is not Microsoft's is never asked about.
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
      - Seconds that the module may take in all, including every retry and everything that it waits for.
      - Above 0, up to 86400.
    type: float
    default: 1800
  api_profile:
    description: Ignored, with a warning. Taken so that credentials can be shared with azure.azcollection.
    type: str
  log_mode:
    description: Ignored, with a warning. Taken so that credentials can be shared with azure.azcollection.
    type: str
  log_path:
    description: Ignored, with a warning. Taken so that credentials can be shared with azure.azcollection.
    type: str
  ad_user:
    description: Refused, because Azure asks people for a second factor.
    type: str
  password:
    description: Refused, as O(ad_user) is.
    type: str
notes:
  - All modules that ask ARM run on the controller. Delegate them to C(localhost).
  - Retries what Azure throttles (429) or answers with an error of its own (5xx), after the time that it names.
    What must not happen twice, as a redeployment, is not sent again where Azure may have begun it.
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
      - The id of the machine, in place of all other options that name it. It is a VM's own C(compute.resourceId), and
        the C(id) of azure.azcollection's inventory.
    type: str
  resource_group:
    description: The resource group of O(name) or O(scale_set).
    type: str
  name:
    description: The name of a VM that stands alone or is a member of a flexible scale set. Needs O(resource_group).
    type: str
  scale_set:
    description: The name of a uniform scale set. Needs O(resource_group) and O(instance_id).
    type: str
  instance_id:
    description: The id of the instance in O(scale_set).
    type: str
"""

    PLACES = r"""
options:
  subscriptions:
    description:
      - Ids of the subscriptions in which is looked.
      - If not set, O(subscription_id).
    type: list
    elements: str
  management_group:
    description:
      - The id of a management group, C(shop) of C(/providers/Microsoft.Management/managementGroups/shop). All
        subscriptions below it, at whatever depth, take the place of O(subscriptions).
      - Which these are is asked of Azure Resource Graph, and needs the role Reader on the group. A group below which it
        shows none is an error.
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
      - Whether a deletion is announced.
      - A notification that is there but disabled counts as disabled, whatever its timeout.
    type: str
    choices: [enabled, disabled]
    default: enabled
  not_before_timeout:
    description:
      - How far ahead a deletion is announced, from 5 to 15 minutes, as V(PT5M), V(5m), V(00:05:00), or the number of
        minutes.
      - If not set, the present time stays; where there is none, it becomes 5 minutes.
      - Has no meaning with O(state=disabled).
    type: str
  os_image_notification:
    description:
      - Whether an upgrade of the OS image is announced, always 15 minutes ahead.
      - If not set, it stays as it is.
    type: bool
  wait:
    description: Wait until Azure has made the change, and read it back.
    type: bool
    default: true
"""
