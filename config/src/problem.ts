import { type ConfigProblem, closest, defined, type SvcError } from '@svc/plugin-sdk'
import { type ConfigCode, configErrors } from './errors.ts'
import type { SourcePosition } from './layers.ts'

export function problem(
  severity: ConfigProblem['severity'],
  code: ConfigCode,
  message: string,
  place?: SourcePosition,
  key?: string,
  hint?: string
): ConfigProblem {
  const { file, line, column } = place ?? {}
  return defined({ severity, code, message, file, line, column, key, hint })
}

/** Combines problems into one error, with the code of the first. */
export function problemsError(problems: readonly ConfigProblem[]): SvcError {
  const [first] = problems
  const code = (first?.code ?? 'CFG_VALUE_INVALID') as ConfigCode
  const { file, line, column, key: path } = first ?? {}
  const at = { ...(file && { file }), ...(line && { line }), ...(column && { column }), ...(path && { path }) }
  return configErrors.create(code, problems.map(formatProblem).join('\n'), { at, data: { problems } })
}

/** Formats a problem as `file:line:column  CODE  message`, with the hint on a second line. */
export function formatProblem({ file, line, column, code, message, hint }: ConfigProblem): string {
  const place = [file, line, column].filter(part => part !== undefined).join(':')
  return `${place === '' ? '' : `${place}  `}${code}  ${message}${hint === undefined ? '' : `\n  ${hint}`}`
}

export function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  const found = closest(name, candidates)
  return found === undefined ? undefined : `did you mean "${found}"?`
}
