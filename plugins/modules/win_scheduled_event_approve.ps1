#!powershell
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)

#AnsibleRequires -CSharpUtil Ansible.Basic
#AnsibleRequires -CSharpUtil ..module_utils._Modules

# Ansible.Basic reads numbers by the culture: 1.5 would be 15 in German.
[Threading.Thread]::CurrentThread.CurrentCulture = [Globalization.CultureInfo]::InvariantCulture

$spec = @{
    options = @{
        endpoint = @{ type = 'str'; default = 'http://169.254.169.254' }
        api_version = @{ type = 'str' }
        timeout = @{ type = 'float'; default = 150.0 }
        connect_timeout = @{ type = 'float'; default = 5.0 }
        vm_name = @{ type = 'str' }
        event_types = @{ type = 'list'; elements = 'str' }
        event_sources = @{ type = 'list'; elements = 'str' }
        event_statuses = @{ type = 'list'; elements = 'str' }
        affecting = @{ type = 'str'; default = 'any'; choices = @('any', 'this_vm', 'others') }
        event_ids = @{ type = 'list'; elements = 'str' }
        as_seen = @{ type = 'list'; elements = 'dict'; default = @() }
        scope = @{ type = 'str'; default = 'own'; choices = @('own', 'leader', 'any') }
        wait = @{ type = 'bool'; default = $false }
        wait_timeout = @{ type = 'float'; default = 300.0 }
    }
    supports_check_mode = $true
}
$module = [Ansible.Basic.AnsibleModule]::Create($args, $spec)
$around = [ansible_collections.foghorn.azure_events.plugins.module_utils._Modules.Surroundings]::OfThisMachine(
    [Environment]::GetEnvironmentVariable('FOGHORN_IMDS_ENDPOINT'))
$ending = [ansible_collections.foghorn.azure_events.plugins.module_utils._Modules.ImdsModule]::Approve(
    $module.Params, $module.CheckMode, $around)
foreach ($warning in $ending.Warnings) { $module.Warn($warning) }
foreach ($key in $ending.Result.Keys) { $module.Result[$key] = $ending.Result[$key] }
if ($null -ne $ending.Before) {
    $module.Diff.before = $ending.Before
    $module.Diff.after = $ending.After
}
if ($null -ne $ending.Failure) { $module.FailJson($ending.Failure) }
$module.ExitJson()
