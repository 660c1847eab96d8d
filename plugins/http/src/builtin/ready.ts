import {
  type Contribution,
  type GenerationView,
  type KernelAdmin,
  type ReadinessCheck,
  type ReadinessResult,
  readiness
} from '@svc/contracts'
import type { LogError } from '../answer-errors.ts'
import { JSON_TYPE } from '../error-reply.ts'
import { withTimeLimit } from '../with-time-limit.ts'
import type { BuiltIn } from './built-in.ts'
import { invalidPlugins, isMissing } from './invalid-plugins.ts'

const CHECK_TIMEOUT_MS = 5_000

export interface ReadyParts {
  readonly report: LogError
  readonly admin: Pick<KernelAdmin, 'plugins'> | undefined
  /** True if an invalid plugin makes the status 503. */
  readonly requiresPlugins: boolean
}

/**
 * Returns /ready: 200 if every readiness check passes, else 503. An anonymous caller sees only the status; others also
 * see the checks with details and additional fields, and the invalid plugins.
 */
export function readyRoute(generation: GenerationView, { report, admin, requiresPlugins }: ReadyParts): BuiltIn {
  return {
    path: '/ready',
    open: true,
    mainOnly: false,
    async answer({ principal, requestId }) {
      const checks = generation.items(readiness)
      const results = await Promise.all(checks.map(check => run(check, report, requestId)))
      const invalid = invalidPlugins(admin)
      const ok = results.every(result => result.ok) && !(requiresPlugins && invalid.some(isMissing))
      const status = ok ? 'ready' : 'not_ready'
      const anonymous = principal.role === 'anonymous'
      const body = anonymous
        ? { status }
        : {
            ...Object.assign({}, ...results.map(result => result.data ?? {})),
            status,
            checks: checks.map(({ item, unit }, at) => {
              const { ok, detail } = results[at] as ReadinessResult
              return { name: item.name, plugin: unit.name, ok, detail }
            }),
            ...(invalid.length === 0 ? {} : { invalid_plugins: invalid })
          }
      return { status: ok ? 200 : 503, type: JSON_TYPE, body: JSON.stringify(body) }
    }
  }
}

async function run(
  { item, unit }: Contribution<ReadinessCheck>,
  report: LogError,
  requestId: string
): Promise<ReadinessResult> {
  try {
    const result = await withTimeLimit(CHECK_TIMEOUT_MS, item.check())
    return result ?? { ok: false, detail: `no result within ${CHECK_TIMEOUT_MS} ms` }
  } catch (error) {
    report('a readiness check failed', { check: item.name, plugin: unit.name, error, request_id: requestId })
    return { ok: false, detail: 'the check itself failed; see the log' }
  }
}
