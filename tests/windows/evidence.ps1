# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
<#
.SYNOPSIS
Shows on a Windows machine what the modules for Windows VMs promise, as far as this machine can, against the simulator.
.DESCRIPTION
Writes one JSON file with each promise: shown, failed or not tried, and why. Ends with 1 if one has failed.
.PARAMETER Python
Python 3.9 or later with aiohttp, for the simulator.
.PARAMETER Out
The file.
.PARAMETER Agent
python.org's "Windows embeddable package (64-bit)", 3.11 or later: the agent is installed with it, tried and removed. Needs an
administrator, and a machine without the agent.
.PARAMETER AskAzure
Read the events from the real metadata service too. Asking enables Scheduled Events for this VM. Nothing is approved.
#>
param([string]$Python = 'python', [string]$Out = 'evidence.json', [string]$Agent, [switch]$AskAzure)

$ErrorActionPreference = 'Stop'
$root = [IO.Path]::GetFullPath([IO.Path]::Combine($PSScriptRoot, '..', '..'))
$space = 'ansible_collections.foghorn.azure_events.plugins.module_utils'
$promises = [Collections.Generic.List[object]]::new()

function Write-Promise([string]$Promise, [string]$Outcome, [string]$Detail) {
    $promises.Add([ordered]@{ promise = $Promise; outcome = $Outcome; detail = $Detail })
    [Console]::WriteLine(('{0,-10} {1}: {2}' -f $Outcome, $Promise, $Detail))
}

function Test-Promise([string]$Promise, [scriptblock]$Test) {
    try { Write-Promise $Promise 'shown' "$(& $Test)" }
    catch { Write-Promise $Promise 'failed' "$($_.Exception.Message)" }
}

function Assert-True([bool]$IsTrue, [string]$Otherwise) { if (-not $IsTrue) { throw $Otherwise } }

function Get-Option([string]$Endpoint) {
    @{
        endpoint = $Endpoint; timeout = [single]20; connect_timeout = [single]5; affecting = 'any'; scope = 'own'
        wait = $false; wait_timeout = [single]300; as_seen = [Collections.Generic.List[object]]::new()
    }
}

function Invoke-Info([string]$Endpoint) {
    $around = ("$space._Modules.Surroundings" -as [type])::OfThisMachine($null)
    $ending = ("$space._Modules.ImdsModule" -as [type])::Info((Get-Option $Endpoint), $around)
    Assert-True ($null -eq $ending.Failure) $ending.Failure
    $ending.Result
}

Test-Promise 'the core compiles as a module compiles it, and a warning would be an error' {
    $core = [IO.Directory]::GetFiles([IO.Path]::Combine($root, 'plugins', 'module_utils'), '_*.cs')
    $own = @{}
    if ($PSVersionTable.PSVersion.Major -lt 6) { $own.ReferencedAssemblies = 'System.Core', [psobject].Assembly.Location }
    Add-Type -Path $core @own
    "$($core.Count) files, PowerShell $($PSVersionTable.PSVersion), CLR $([Environment]::Version), $([Environment]::OSVersion)"
}

$fleet = [IO.Path]::GetTempFileName()
[IO.File]::WriteAllText($fleet, '{"control": {"port": 0}, "imds": {"port": 0}, "vms": [{"name": "web_0", "address": "127.0.0.1"}]}')
$start = [Diagnostics.ProcessStartInfo]::new($Python, "-m azure_simulator serve --config `"$fleet`"")
$start.UseShellExecute = $false
$start.RedirectStandardOutput = $true
$start.EnvironmentVariables['PYTHONPATH'] = [IO.Path]::Combine($root, 'roles', 'azure_simulator', 'files')
$run = @{}
try {
    Test-Promise 'the simulator starts on Windows' {
        $run.simulator = [Diagnostics.Process]::Start($start)
        $line = $run.simulator.StandardOutput.ReadLine()
        Assert-True ("$line" -match '"imds": *\{ *"web_0": *"(http://[^"]+)"') "it said: $line"
        $run.endpoint = $Matches[1]
        Assert-True ("$line" -match '"control": *"(http://[^"]+)"') "it said: $line"
        $run.control = $Matches[1]
        $run.endpoint
    }
    Test-Promise 'events are read, and a result is JSON of plain values' {
        $announce = [Diagnostics.ProcessStartInfo]::new($Python, '-m azure_simulator event Reboot web_0 --impact 1 --linger 1')
        $announce.EnvironmentVariables['FOGHORN_SIMULATOR_CONTROL'] = $run.control
        $announce.UseShellExecute = $false
        $announce.EnvironmentVariables['PYTHONPATH'] = $start.EnvironmentVariables['PYTHONPATH']
        $announced = [Diagnostics.Process]::Start($announce)
        $announced.WaitForExit()
        Assert-True ($announced.ExitCode -eq 0) 'the event could not be announced'
        $result = Invoke-Info $run.endpoint
        Assert-True ($result.events.Count -eq 1) "$($result.events.Count) events instead of 1"
        $json = ConvertTo-Json -InputObject $result -Depth 99 -Compress
        Assert-True ($json -match '"not_before":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"') "no plain date in $json"
        Assert-True ($json -match '"resources":\["web_0"\]') "no list of one in $json"
        $json
    }
    Test-Promise 'numbers are what they are under a German culture' {
        $thread = [Threading.Thread]::CurrentThread
        $before = $thread.CurrentCulture
        $thread.CurrentCulture = [Globalization.CultureInfo]::new('de-DE')
        try {
            $number = ("$space._Text.Text" -as [type])::General(1.5)
            Assert-True ([string]::Equals($number, '1.5')) "1.5 is written as $number"
            Assert-True ((Invoke-Info $run.endpoint).events.Count -eq 1) 'no event'
        }
        finally { $thread.CurrentCulture = $before }
        $number
    }
    Test-Promise 'an event is approved' {
        $around = ("$space._Modules.Surroundings" -as [type])::OfThisMachine($null)
        $option = Get-Option $run.endpoint
        $option.event_types = [Collections.Generic.List[object]]@('Reboot', 'Redeploy', 'Freeze', 'Terminate', 'Preempt')
        $ending = ("$space._Modules.ImdsModule" -as [type])::Approve($option, $false, $around)
        Assert-True ($null -eq $ending.Failure) $ending.Failure
        Assert-True ($ending.Result.changed) 'nothing was approved'
        "$($ending.Result.approved.Count) approved"
    }
    if ($Agent) { . ([IO.Path]::Combine($PSScriptRoot, 'evidence_agent.ps1')) }
    else { Write-Promise 'the agent' 'not tried' 'run with -Agent, as an administrator' }
}
finally {
    if ($null -ne $run.simulator -and -not $run.simulator.HasExited) { $run.simulator.Kill() }
    [IO.File]::Delete($fleet)
}
Test-Promise 'code runs in this language mode' { $ExecutionContext.SessionState.LanguageMode }
if ($AskAzure) { Test-Promise 'the metadata service of Azure answers' { "$((Invoke-Info 'http://169.254.169.254').vm_name)" } }
else { Write-Promise 'the metadata service of Azure answers' 'not tried' 'run with -AskAzure on an Azure VM' }
foreach ($other in 'WinRM and PSRP', 'application control and AppLocker', 'endpoint protection', 'the route of a failover cluster') {
    Write-Promise $other 'not tried' 'this script runs without Ansible, on one machine'
}
[IO.File]::WriteAllText([IO.Path]::GetFullPath($Out), (ConvertTo-Json -InputObject $promises.ToArray() -Depth 5))
if (@($promises | ForEach-Object { $_.outcome }) -contains 'failed') { exit 1 }
