import type { ConfigProblem } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'

/** Problem of the caller's environment, with the plugin that reads the variable. */
export interface CallerProblem extends ConfigProblem {
  readonly plugin: string | null
}

export const problemFields = {
  severity: t.enum(['error', 'warning']),
  code: t.string(),
  message: t.string(),
  file: t.optional(t.string()),
  line: t.optional(t.integer()),
  column: t.optional(t.integer()),
  key: t.optional(t.string()),
  hint: t.optional(t.string())
}

/**
 * Input field that the program `svc` fills in when a server answers: the server has another environment. The variables
 * themselves are not sent, since they may contain secrets.
 */
export const callerProblems = t.array(t.object({ ...problemFields, plugin: t.nullable(t.string()) }), {
  default: [],
  description: "Problems of the caller's environment variables",
  'x-hidden': true,
  'x-fill': 'environment-problems'
})

/** Adds the problems of the caller's environment to those of this process, each once. */
export function withCallerProblems(
  own: readonly ConfigProblem[],
  callers: readonly CallerProblem[]
): readonly ConfigProblem[] {
  const known = new Set(own.map(({ message }) => message))
  const others = callers.filter(({ message }) => !known.has(message))
  return [...own, ...others.map(({ plugin: _plugin, ...problem }) => problem)]
}
