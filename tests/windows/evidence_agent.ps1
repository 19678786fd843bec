# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
<#
.SYNOPSIS
The part of evidence.ps1 about the agent: installs it, takes it through an event of the simulator, and removes it.
.DESCRIPTION
Needs an administrator, and a machine without the agent. evidence.ps1 gives it what the simulator is: $run, $start.
#>

# The tests start programs of Windows by another program, Wine.
function Invoke-Program([string]$File, [string[]]$Words) {
    $quoted = (@($Words | ForEach-Object { '"{0}"' -f $_ }) -join ' ')
    if ($env:EVIDENCE_RUNNER) { $quoted = ('"{0}" {1}' -f $File, $quoted); $File = $env:EVIDENCE_RUNNER }
    $info = [Diagnostics.ProcessStartInfo]::new($File, $quoted)
    $info.UseShellExecute = $false
    $info.RedirectStandardInput = $true
    $info.RedirectStandardOutput = $true
    $program = [Diagnostics.Process]::Start($info)
    $program.StandardInput.Close()
    $said = $program.StandardOutput.ReadToEnd()
    $program.WaitForExit()
    @{ status = $program.ExitCode; said = $said.Trim() }
}

function Get-Probe {
    try {
        $client = [Net.Sockets.TcpClient]::new('127.0.0.1', $port)
        try {
            $stream = $client.GetStream()
            $request = [Text.Encoding]::ASCII.GetBytes("GET /readyz HTTP/1.1`r`n`r`n")
            $stream.Write($request, 0, $request.Length)
            [IO.StreamReader]::new($stream).ReadLine()
        }
        finally { $client.Close() }
    }
    catch { '' }
}

function Wait-Probe([string]$Status) {
    $ends = [DateTime]::UtcNow.AddSeconds(120)
    while ([DateTime]::UtcNow -lt $ends) {
        $said = Get-Probe
        if ("$said".StartsWith("HTTP/1.1 $Status")) { return $said }
        [Threading.Thread]::Sleep(200)
    }
    throw "the probe did not become $Status within 120 s; it says: $said"
}

# What Windows has, and a machine of the tests has not.
function Test-Tool([string]$Promise, [string]$Tool, [scriptblock]$Test) {
    $path = [IO.Path]::Combine([Environment]::SystemDirectory, $Tool)
    if ([IO.File]::Exists($path)) { Test-Promise $Promise $Test } else { Write-Promise $Promise 'not tried' "there is no $Tool" }
}

$port = 9797
$work = [IO.Path]::Combine([IO.Path]::GetTempPath(), 'foghorn-evidence-' + [Guid]::NewGuid().ToString('N'))
$given = [IO.Path]::Combine($work, 'given')
[void][IO.Directory]::CreateDirectory($given)
$programs = [IO.Path]::Combine($env:ProgramFiles, 'foghorn')
$first = [IO.Path]::Combine($work, 'python', 'python.exe')
$built = [IO.Path]::Combine($work, 'foghorn-agent.pyz')
$there = [IO.Path]::Combine($programs, 'python', 'python.exe')
$installed = [IO.Path]::Combine($programs, 'foghorn-agent.pyz')
try {
    Test-Promise 'the agent installs itself, with its Python and its service' {
        Assert-True (-not [IO.Directory]::Exists($programs)) "$programs is there: remove the agent first"
        [void][Reflection.Assembly]::LoadWithPartialName('System.IO.Compression.FileSystem')
        [IO.Compression.ZipFile]::ExtractToDirectory([IO.Path]::GetFullPath($Agent), [IO.Path]::Combine($work, 'python'))
        $build = [Diagnostics.ProcessStartInfo]::new($Python, ('"{0}" "{1}"' -f [IO.Path]::Combine($root, 'roles',
                    'handler_agent', 'files', 'build_program.py'), $built))
        $build.UseShellExecute = $false
        [Diagnostics.Process]::Start($build).WaitForExit()
        $config = '{{"imds": {{"endpoint": "{0}"}}, "listen": [{{"address": "127.0.0.1", "port": {1}}}], "margin": 1, ' +
            '"policies": [{{"approve": "when_ready", "drain": [{{"pause": 1}}], "restore": [{{"pause": 1}}]}}]}}'
        [IO.File]::WriteAllText([IO.Path]::Combine($given, 'agent.json'), ($config -f $run.endpoint, $port))
        $done = Invoke-Program $first @('-IS', $built, 'install', '--files', $given, '--json')
        Assert-True ($done.status -eq 0 -and $done.said -match '"changed": true') $done.said
        $done.said
    }
    Test-Promise 'its service answers the probe' { Wait-Probe 200 }
    Test-Promise 'a second install changes nothing' {
        $done = Invoke-Program $there @('-IS', $built, 'install', '--files', $given, '--json')
        Assert-True ($done.said -match '"changed": false') $done.said
        $done.said
    }
    Test-Promise 'it takes this machine through an event' {
        $announce = [Diagnostics.ProcessStartInfo]::new($Python, '-m azure_simulator event Freeze web_0 --impact 1 --linger 1')
        $announce.UseShellExecute = $false
        $announce.EnvironmentVariables['FOGHORN_SIMULATOR_CONTROL'] = $run.control
        $announce.EnvironmentVariables['PYTHONPATH'] = $start.EnvironmentVariables['PYTHONPATH']
        [Diagnostics.Process]::Start($announce).WaitForExit()
        [void](Wait-Probe 503)
        # The event that was approved before it has to be over, too.
        Wait-Probe 200
    }
    Test-Promise 'it is drained and restored by hand' {
        $drained = Invoke-Program $there @('-IS', $installed, 'drain', '--wait', '60', '--json')
        Assert-True ($drained.status -eq 0) $drained.said
        [void](Wait-Probe 503)
        $restored = Invoke-Program $there @('-IS', $installed, 'restore', '--wait', '60', '--json')
        Assert-True ($restored.status -eq 0) $restored.said
        "$($drained.said) $($restored.said)"
    }
    Test-Tool 'only administrators can use its directory' 'icacls.exe' {
        $said = (Invoke-Program 'icacls.exe' @([IO.Path]::Combine($env:ProgramData, 'foghorn'))).said
        Assert-True ($said -notmatch 'Users|Everyone|Benutzer|Jeder') $said
        $said
    }
    Test-Tool 'the service manager starts it again when it was killed' 'sc.exe' {
        $said = (Invoke-Program 'sc.exe' @('queryex', 'foghorn-agent')).said
        Assert-True ($said -match '(?m)PID\s*:\s*(\d+)') $said
        [Diagnostics.Process]::GetProcessById([int]$Matches[1]).Kill()
        [Threading.Thread]::Sleep(500)
        Wait-Probe 200
    }
    Test-Tool 'the event log has what it says' 'wevtutil.exe' {
        $query = "*[System[Provider[@Name='foghorn-agent']]]"
        $said = (Invoke-Program 'wevtutil.exe' @('qe', 'Application', "/q:$query", '/c:1', '/f:text')).said
        Assert-True ($said.Length -gt 0) 'nothing was found'
        $said
    }
}
finally {
    Test-Promise 'it removes itself' {
        $done = Invoke-Program $first @('-IS', $built, 'uninstall', '--json')
        Assert-True ($done.status -eq 0) "status $($done.status): foghorn-agent status says why"
        Assert-True (-not [IO.Directory]::Exists($programs)) "$programs is left"
        $done.said
    }
    if ([IO.Directory]::Exists($work)) { [IO.Directory]::Delete($work, $true) }
}
foreach ($other in 'its boot has another name after a reboot', 'a service with dependents is stopped and started', 'memory and processor') {
    Write-Promise $other 'not tried' 'this script neither reboots this machine nor stops its services'
}
