# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# Says, one a line, what the script of a module has in it that Windows PowerShell 5.1 lacks, or that is no glue.
param([string]$Path)

if ([IO.File]::ReadAllText($Path) -match '[^\x00-\x7f]') { 'not ASCII: 5.1 reads it as ANSI' }
$tokens = $null
$errors = $null
$tree = [Management.Automation.Language.Parser]::ParseFile($Path, [ref]$tokens, [ref]$errors)
foreach ($one in $errors) { "not PowerShell: $($one.Message)" }
$newer = 'QuestionMark', 'QuestionQuestion', 'QuestionQuestionEquals', 'QuestionDot', 'QuestionLBracket', 'AndAnd', 'OrOr', 'Clean'
foreach ($token in $tokens) { if ($newer -contains "$($token.Kind)") { "not in 5.1: $($token.Kind)" } }
foreach ($command in $tree.FindAll({ $args[0] -is [Management.Automation.Language.CommandAst] }, $true)) {
    "command $($command.GetCommandName())"
}
$conditions = @($tree.FindAll({ $args[0] -is [Management.Automation.Language.IfStatementAst] }, $true))
if ($conditions.Count -gt 2) { 'more than 2 conditions: logic belongs into the core' }
