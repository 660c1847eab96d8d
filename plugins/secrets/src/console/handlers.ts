import type { SecretStatus } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { type DoctorContext, examine } from '../doctor.ts'
import type { Secrets } from '../secrets.ts'
import { CachedCheck } from './cached-check.ts'
import type { inboxOperation, summaryOperation } from './operations.ts'
import { READER, type Unmet, unmetRequirements } from './required.ts'

/** Age after which secrets are read again. Each read of a vault is in its audit log. */
const MAX_AGE_MS = 60_000
const DAY_MS = 86_400_000

const INVALID: ReadonlySet<SecretStatus> = new Set([
  'InvalidEmpty',
  'RejectedLegacyAlias',
  'RejectedSourcePolicy',
  'RejectedClassPolicy',
  'BackendUnavailable'
])
const OUTDATED: ReadonlySet<SecretStatus> = new Set(['StaleRotation', 'NearingExpiry', 'DeprecatedAliasUsed'])

/** State of the secrets for the console. */
export class SecretState {
  readonly #secrets: Secrets
  readonly #changed: () => void
  readonly #required: CachedCheck<readonly Unmet[]>
  readonly #all: CachedCheck<Awaited<ReturnType<SecretState['count']>>>
  /** When each unmet requirement was first seen. */
  readonly #seen = new Map<string, number>()

  constructor(secrets: Secrets, context: (by: string) => DoctorContext, changed: () => void) {
    this.#secrets = secrets
    this.#changed = changed
    this.#required = new CachedCheck(() => unmetRequirements(secrets), MAX_AGE_MS)
    this.#all = new CachedCheck(() => this.count(context(READER)), MAX_AGE_MS)
  }

  /** Call it after a change of secrets in this process, and in intervals to notice those of others. */
  changed(): void {
    this.#required.forget()
    this.#all.forget()
    this.#changed()
  }

  inbox(): Handler<typeof inboxOperation> {
    return async () => {
      const unmet = await this.#required.get()
      const ids = new Set(unmet.map(({ id }) => id))
      for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
      return {
        items: unmet.map(({ id, title, body, store }) => {
          const since = this.#seen.get(id) ?? this.#secrets.options.now()
          this.#seen.set(id, since)
          return {
            id,
            kind: 'failure' as const,
            title,
            body,
            since,
            link: '/ui/p/secrets/declared',
            answers:
              store === null
                ? []
                : [
                    {
                      label: 'Store it',
                      operation: 'secrets.set',
                      input: { name: store },
                      ask: ['value'],
                      tone: 'primary' as const
                    }
                  ]
          }
        })
      }
    }
  }

  summary(): Handler<typeof summaryOperation> {
    return () => this.#all.get()
  }

  async count(context: DoctorContext) {
    const { options, policy } = this.#secrets
    const { report } = await examine({ workflow: 'chat', mode: 'auto' }, context)
    const unmet = await this.#required.get()
    // Without a vault there are no delegations.
    const delegations = (await options.backends.vault?.delegations().catch(() => [])) ?? []
    const now = options.now()
    const active = delegations.filter(({ revokedAtMs, expiresAtMs }) => revokedAtMs === null && expiresAtMs > now)
    const count = (statuses: ReadonlySet<SecretStatus>): number =>
      report.secrets.filter(({ status }) => statuses.has(status)).length
    return {
      profile: policy.profile,
      backend_mode: report.backend_mode,
      declared: report.secrets.length,
      present: report.secrets.filter(({ is_present }) => is_present).length,
      unmet: unmet.length,
      invalid: count(INVALID),
      outdated: count(OUTDATED),
      delegations: active.length,
      delegations_ending: active.filter(({ expiresAtMs }) => expiresAtMs < now + DAY_MS).length
    }
  }
}
