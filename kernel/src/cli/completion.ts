import { EXIT } from './exit-codes.ts'

/** `svc completion [SHELL]`. */
export function printScript(shell: string | undefined): number {
  const zsh = shell === undefined ? (process.env.SHELL ?? '').endsWith('zsh') : shell === 'zsh'
  process.stdout.write(zsh ? ZSH : BASH)
  return EXIT.ok
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
