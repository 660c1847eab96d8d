import { EXIT } from './exit-codes.ts'

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell'

/** Prints the completion script of a shell. Default: the shell of `$SHELL`, else bash. */
export function printScript(shell: string | undefined): number {
  process.stdout.write(SCRIPTS[(shell as Shell | undefined) ?? ownShell()])
  return EXIT.ok
}

function ownShell(): Shell {
  const name = (process.env.SHELL ?? '').split('/').at(-1)
  return name === 'zsh' || name === 'fish' ? name : 'bash'
}

const BASH = `# bash: source <(svc completion bash)
_svc_complete() {
  local line
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" __complete "$COMP_CWORD" "\${COMP_WORDS[@]}" 2>/dev/null)
}
complete -o default -F _svc_complete svc
`

const ZSH = `#compdef svc
# zsh: source <(svc completion zsh), after compinit
_svc() {
  local -a values
  local value about
  while IFS=$'\\t' read -r value about; do
    values+=("\${value//:/\\\\:}:$about")
  done < <("\${words[1]}" __complete $((CURRENT - 1)) "\${words[@]}" 2>/dev/null)
  if (( \${#values} )); then
    _describe svc values
  else
    _files
  fi
}
compdef _svc svc
`

const FISH = `# fish: svc completion fish | source
function __svc_complete
  set -l words (commandline --tokenize --cut-at-cursor)
  set -l current (commandline --current-token --cut-at-cursor)
  $words[1] __complete (count $words) $words $current 2>/dev/null
end
complete --command svc --no-files --condition 'test -n "$(__svc_complete)"' --arguments '(__svc_complete)'
`

// Windows PowerShell 5.1 drops an empty argument, so an index after the last word means an empty word.
const POWERSHELL = `# PowerShell: svc completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -le $cursorPosition } | ForEach-Object { $_.ToString() })
  $index = if ($wordToComplete -eq '') { $words.Count } else { $words.Count - 1 }
  & $words[0] __complete $index @words 2>$null | ForEach-Object {
    $value, $about = $_ -split "\`t", 2
    if (-not $about) { $about = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
  }
}
`

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL }
