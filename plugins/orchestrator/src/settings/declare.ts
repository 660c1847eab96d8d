import { t } from '@svc/plugin-sdk'

const PREFIX = 'SVC_ORCHESTRATOR_'

interface Where {
  /** Environment variable, without its prefix. */
  readonly env?: string
  /** True if a change takes effect without a restart of the plugin. */
  readonly live?: boolean
}

const annotations = ({ env, live }: Where) => ({
  ...(env === undefined ? {} : { 'x-env': `${PREFIX}${env}` }),
  ...(live === true ? ({ 'x-reload': 'live' } as const) : {})
})

/** Declares a boolean whose environment variable accepts only `true` and `false`. */
export const flag = (value: boolean, description: string, where: Where = {}) =>
  t.boolean({ default: value, description, 'x-env-type': 'strict', ...annotations(where) })

export const integer = (
  value: number,
  range: readonly [minimum: number, maximum: number],
  description: string,
  where: Where = {}
) => t.integer({ default: value, minimum: range[0], maximum: range[1], description, ...annotations(where) })

export const real = (
  value: number,
  range: readonly [minimum: number, maximum: number],
  description: string,
  where: Where = {}
) => t.number({ default: value, minimum: range[0], maximum: range[1], description, ...annotations(where) })

/** Declares a number in [0, 1]. */
export const ratio = (value: number, description: string, where: Where = {}) => real(value, [0, 1], description, where)

/** Maximum duration: ten years. */
const MAX_DURATION_MS = 315_360_000_000

export const milliseconds = (value: number, minimum: number, description: string, where: Where = {}) =>
  integer(value, [minimum, MAX_DURATION_MS], description, where)

type Properties = Parameters<typeof t.object>[0]

/** Declares an optional table whose settings have defaults. */
export const table = <const P extends Properties>(properties: P) => ({ ...t.object(properties), default: {} })
