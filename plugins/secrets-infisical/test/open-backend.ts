import { SecretProgram } from '@svc/contracts'
import { InfisicalBackend, type Settings } from '#root'

export interface BackendOptions {
  readonly now?: () => number
  /** Path of the vendor's program; none is installed without one. */
  readonly program?: string
  readonly environment?: NodeJS.ProcessEnv
}

const DEFAULTS = { environment: 'dev', path: '/', project_id: 'project', cli: 'auto', timeout_ms: 10_000 } as const

/** Opens a backend with the default settings and those given. */
export function openBackend(settings: object, options: BackendOptions = {}): InfisicalBackend {
  const { now = Date.now, program, environment = {} } = options
  return new InfisicalBackend({ ...DEFAULTS, ...settings } as Settings, {
    now,
    program: new SecretProgram({
      product: 'Infisical',
      names: [program ?? '/no/such/program'],
      variables: [],
      environment,
      signal: new AbortController().signal
    })
  })
}
