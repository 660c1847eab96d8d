import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Coordination, ExchangeAnswer, PairAnswer } from '@svc/contracts'
import { parseStrictJson } from '@svc/plugin-sdk'
import { refuse } from './refusal.ts'
import type { MeshScope } from './scope.ts'

/** Default lifetime of a token of `x/pair`: ten minutes. */
const PAIR_MS = 600_000

export interface BootstrapOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  /** The configured one-time token; null if none is. */
  readonly token: string | null
  /** When the configured token expires in Unix milliseconds; null: never. */
  readonly expiresAt: number | null
  /** Token that a new member receives; null if none is configured. */
  readonly meshToken: string | null
}

interface PairedToken {
  readonly expires_unix_ms: number
  readonly used: boolean
}

/**
 * One-time tokens for new members: the configured one, and those of `x/pair`. The store knows only their digests, and a
 * compare-and-set there makes each of them work once over all control planes.
 */
export class Bootstrap {
  readonly #options: BootstrapOptions

  constructor(options: BootstrapOptions) {
    this.#options = options
  }

  /**
   * Exchanges a one-time token for the mesh token. Throws `MSC_NOT_FOUND` if no token exists, `MSC_UNAUTHORIZED` for a wrong
   * one, `MSC_GONE` for one that was used or has expired, and `MSC_UNAVAILABLE` without a mesh token.
   */
  async exchange(presented: string): Promise<ExchangeAnswer> {
    const { token, expiresAt, meshToken, scope, store } = this.#options
    const name = this.#nameOf(presented)
    const isConfigured = token !== null && isEqual(token, presented)
    const stored = await store().meta.get(name)
    if (!isConfigured && stored === null) {
      const isEnabled = token !== null || (await store().meta.get(this.#enabled)) !== null
      if (!isEnabled) throw refuse('MSC_NOT_FOUND', 'the bootstrap exchange is not enabled')
      throw refuse('MSC_UNAUTHORIZED', 'unauthorized')
    }
    const paired = stored === null ? null : (parseStrictJson(stored) as PairedToken)
    const until = paired?.expires_unix_ms ?? expiresAt
    if (paired?.used === true) throw refuse('MSC_GONE', 'the bootstrap token was used')
    if (until !== null && (await store().now()) > until) throw refuse('MSC_GONE', 'the bootstrap token has expired')
    if (meshToken === null) throw refuse('MSC_UNAVAILABLE', 'the control plane has no mesh token to hand out')
    const used: PairedToken = { expires_unix_ms: until ?? 0, used: true }
    if (!(await store().meta.swap(name, stored, JSON.stringify(used))))
      throw refuse('MSC_GONE', 'the bootstrap token was used')
    return { mesh_token: meshToken, ...(scope.id === null ? null : { scope_id: scope.id }) }
  }

  /** Creates a one-time token. Throws `MSC_UNAVAILABLE` without a mesh token. */
  async pair(lifetimeMs = PAIR_MS): Promise<PairAnswer> {
    const { store, meshToken } = this.#options
    if (meshToken === null) throw refuse('MSC_UNAVAILABLE', 'the control plane has no mesh token to hand out')
    const token = randomBytes(24).toString('base64url')
    const expires = Math.floor((await store().now()) + lifetimeMs)
    const content: PairedToken = { expires_unix_ms: expires, used: false }
    await store().meta.swap(this.#enabled, null, '1')
    await store().meta.swap(this.#nameOf(token), null, JSON.stringify(content))
    return { bootstrap_token: token, expires_unix_ms: expires }
  }

  get #enabled(): string {
    return `mesh.bootstrap.${this.#options.scope.stored}`
  }

  #nameOf(token: string): string {
    return `${this.#enabled}.${createHash('sha256').update(token).digest('base64url')}`
  }
}

function isEqual(token: string, presented: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(token), digest(presented))
}
