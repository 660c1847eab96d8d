import type { ChoiceInput } from './choice/input.ts'
import { HOSTED, HOSTED_NAMES } from './provider-list.ts'

/** Returns how to get a model, if there is none. */
function advice({ isAllowed, local }: ChoiceInput): string {
  const variables = HOSTED_NAMES.filter(name => name !== 'custom' && isAllowed(name)).map(name => HOSTED[name].variable)
  const start = local.isAllowed ? ['start a local server with svc model serve, or set INFER_URL'] : []
  const key = variables.length === 0 ? [] : [`set the key of a provider, such as ${variables.slice(0, 3).join(', ')}`]
  return [...start, ...key].join('; or ')
}

/** Returns what the table of models does not show, for people; empty if there is nothing to add. */
export function listNote(
  input: ChoiceInput,
  { shown, total, all, problems }: { shown: number; total: number; all: boolean; problems: readonly string[] }
): string {
  const absent = `No model is usable: ${advice(input)}. svc models list --all shows the others, and --json why they are not.`
  return [
    ...(total === 0 && !all ? [absent] : []),
    ...(shown < total ? [`${shown} of ${total} models are shown; --limit ${Math.min(total, 5_000)} shows more.`] : []),
    ...problems
  ].join('\n')
}

/** Returns a warning if the chosen local server would not answer now; null if it would. */
export function localWarning(input: ChoiceInput): string | null {
  const { model, isReady, offered } = input.local
  if (isReady) return null
  if (offered.length === 0) return `no local model server answers: ${advice(input)}`
  return `the local model server does not offer "${model}" but ${offered.slice(0, 5).join(', ')}; set INFER_MODEL to one of them`
}
