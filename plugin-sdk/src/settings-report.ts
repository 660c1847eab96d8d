/** Setting with its value in force, null if there is none, and the layer that sets it. Secrets are masked. */
export interface SettingReport {
  readonly key: string
  readonly plugin: string
  readonly value: unknown
  readonly layer: string
  readonly place: string | null
  readonly env: readonly string[]
  readonly reload: 'live' | 'plugin' | 'restart'
  readonly secret: boolean
  readonly description: string
  /** Invalid value of the highest layer, if there is one. It is not in force. */
  readonly refused?: RefusedValue
}

export interface RefusedValue {
  readonly value: unknown
  readonly layer: string
  readonly place: string | null
  /** Describes a valid value. */
  readonly message: string
}

export interface SettingExplanation extends SettingReport {
  /** Overridden values of lower layers, highest first. */
  readonly overrides: readonly { readonly layer: string; readonly place: string | null; readonly value: unknown }[]
  readonly schema: Record<string, unknown>
}

export interface ConfigProblem {
  readonly severity: 'error' | 'warning'
  readonly code: string
  readonly message: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
  readonly key?: string
  readonly hint?: string
}
