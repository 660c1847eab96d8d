import {
  type Coordination,
  type ExecGrantBody,
  type ExecLease,
  type ExecLeaseBody,
  MAX_SCOPE_KEY_CHARS,
  type NamedLease
} from '@svc/contracts'
import type { NodeRegistry } from './node-registry.ts'
import { refuse } from './refusal.ts'
import type { MeshScope } from './scope.ts'

/** Leases that one query reads. */
const PAGE = 500
/** Maximum number of leases in one answer. */
const MAX_LISTED = 100_000
/** Maximum bytes of leases in one answer, which its readers can read. */
const MAX_LISTED_BYTES = 14 * 1024 * 1024

export interface ExecLeasesOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  readonly nodes: NodeRegistry
  readonly leaseMs: number
}

/** Exec leases of one scope. The id of a lease is its fence in decimal. */
export class ExecLeases {
  readonly #options: ExecLeasesOptions

  constructor(options: ExecLeasesOptions) {
    this.#options = options
  }

  get #store(): Coordination {
    return this.#options.store()
  }

  /**
   * Grants a lease, or extends that of the same node. Throws `MSC_BODY_INVALID`, `MSC_FORBIDDEN` if the node may not take
   * work, and `MSC_CONFLICT` if another node holds it.
   */
  async grant({ claimer_node_id, scope_key }: ExecGrantBody): Promise<ExecLease> {
    const key = scope_key.trim()
    if (key === '') throw refuse('MSC_BODY_INVALID', 'scope_key must not be empty')
    if (key.length > MAX_SCOPE_KEY_CHARS)
      throw refuse('MSC_BODY_INVALID', `scope_key must have at most ${MAX_SCOPE_KEY_CHARS} characters`)
    await this.#options.nodes.requireActive(claimer_node_id)
    const { scope, leaseMs } = this.#options
    const granted = await this.#store.grant(scope.stored, key, claimer_node_id, leaseMs)
    if ('heldBy' in granted) throw refuse('MSC_CONFLICT', 'another node holds the lease')
    return wireLease(granted)
  }

  /** Throws `MSC_BODY_INVALID`, `MSC_FORBIDDEN`, `MSC_NOT_FOUND` or `MSC_CONFLICT`. */
  async renew({ lease_id, claimer_node_id }: ExecLeaseBody): Promise<void> {
    const fence = fenceOf(lease_id)
    await this.#options.nodes.requireActive(claimer_node_id)
    const { scope, leaseMs } = this.#options
    check(await this.#store.renew({ scope: scope.stored, fence, holder: claimer_node_id }, leaseMs))
  }

  /** Releases a lease; a node in maintenance may, too. Throws as `renew` does. */
  async release({ lease_id, claimer_node_id }: ExecLeaseBody): Promise<void> {
    const fence = fenceOf(lease_id)
    await this.#options.nodes.requireJoined(claimer_node_id)
    check(await this.#store.release({ scope: this.#options.scope.stored, fence, holder: claimer_node_id }))
  }

  /** Ends a lease of any node. Throws `MSC_BODY_INVALID` or `MSC_NOT_FOUND`. */
  async revoke(leaseId: string): Promise<void> {
    if (!(await this.#store.revoke(this.#options.scope.stored, fenceOf(leaseId))))
      throw refuse('MSC_NOT_FOUND', 'there is no such lease')
  }

  /** Returns the live leases, by id; of very many, the first ones. */
  async list(): Promise<readonly ExecLease[]> {
    const found: ExecLease[] = []
    let after: number | undefined
    let bytes = 0
    while (found.length < MAX_LISTED) {
      const page = { limit: PAGE, ...(after === undefined ? null : { after }) }
      const leases = await this.#store.leases(this.#options.scope.stored, page)
      for (const lease of leases.map(wireLease)) {
        bytes += Buffer.byteLength(JSON.stringify(lease)) + 1
        if (bytes > MAX_LISTED_BYTES) return found
        found.push(lease)
      }
      after = leases.at(-1)?.fence
      if (leases.length < PAGE) break
    }
    return found
  }
}

function wireLease({ fence, key, holder, expiresAt }: NamedLease): ExecLease {
  return {
    lease_id: String(fence),
    scope_key: key,
    holder_node_id: holder,
    expires_unix_ms: Math.floor(expiresAt)
  }
}

/** Throws `MSC_BODY_INVALID` unless the id is a decimal number. */
function fenceOf(leaseId: string): number {
  const id = leaseId.trim()
  const fence = /^[0-9]{1,16}$/.test(id) ? Number(id) : Number.NaN
  if (Number.isSafeInteger(fence)) return fence
  throw refuse('MSC_BODY_INVALID', 'lease_id must be a decimal number')
}

function check(outcome: 'ok' | 'gone' | 'other'): void {
  if (outcome === 'gone') throw refuse('MSC_NOT_FOUND', 'there is no such lease, or it has expired')
  if (outcome === 'other') throw refuse('MSC_CONFLICT', 'another node holds the lease')
}
