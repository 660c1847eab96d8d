import { t } from '@svc/plugin-sdk'

const PREFIX = 'SVC_ORCHESTRATOR_'

interface SettingOptions {
  /** Environment variable, without its prefix. */
  readonly env?: string
  /** True if a change takes effect without a restart of the plugin. */
  readonly live?: boolean
  /** Other names of the setting in files. */
  readonly aliases?: readonly string[]
}

export const annotations = ({ env, live, aliases }: SettingOptions) => ({
  ...(env === undefined ? {} : { 'x-env': `${PREFIX}${env}` }),
  ...(live === true ? ({ 'x-reload': 'live' } as const) : {}),
  ...(aliases === undefined ? {} : { 'x-aliases': aliases })
})

/** Declares a boolean whose environment variable accepts only `true` and `false`. */
export const flag = (value: boolean, description: string, options: SettingOptions = {}) =>
  t.boolean({ default: value, description, 'x-env-type': 'strict', ...annotations(options) })

export const integer = (
  value: number,
  range: readonly [minimum: number, maximum: number],
  description: string,
  options: SettingOptions = {}
) => t.integer({ default: value, minimum: range[0], maximum: range[1], description, ...annotations(options) })

export const number = (
  value: number,
  range: readonly [minimum: number, maximum: number],
  description: string,
  options: SettingOptions = {}
) => t.number({ default: value, minimum: range[0], maximum: range[1], description, ...annotations(options) })

/** Declares a number in [0, 1]. */
export const ratio = (value: number, description: string, options: SettingOptions = {}) =>
  number(value, [0, 1], description, options)

/** Maximum duration: ten years. */
const MAX_DURATION_MS = 315_360_000_000

export const milliseconds = (value: number, minimum: number, description: string, options: SettingOptions = {}) =>
  integer(value, [minimum, MAX_DURATION_MS], description, options)

type Properties = Parameters<typeof t.object>[0]

/** Declares an optional table whose settings have defaults. */
export const table = <const P extends Properties>(properties: P) => ({ ...t.object(properties), default: {} })
