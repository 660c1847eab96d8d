import { SecretProgram } from '@svc/contracts'
import { type Settings, VaultBackend } from '#root'

export interface BackendOptions {
  readonly storedToken?: () => string | null
  readonly now?: () => number
  /** Path of the vendor's program; none is installed without one. */
  readonly program?: string
  readonly environment?: NodeJS.ProcessEnv
  readonly signal?: AbortSignal
}

const DEFAULTS = {
  ...{ mount: 'secret', kv_version: 2, path: 'svc', approle_mount: 'approle', cli: 'auto', timeout_ms: 10_000 }
} as const

/** Opens a backend with the default settings and those given. */
export function openBackend(settings: object, options: BackendOptions = {}): VaultBackend {
  const { storedToken = () => null, now = Date.now, program, environment = {}, signal } = options
  return new VaultBackend({ ...DEFAULTS, ...settings } as Settings, {
    storedToken,
    now,
    program: new SecretProgram({
      product: 'Vault',
      names: [program ?? '/no/such/program'],
      variables: [],
      environment,
      signal: signal ?? new AbortController().signal
    })
  })
}
