import {
  CallBatches,
  coordinationChecks as check,
  type LeaseConflict,
  type LeaseOutcome,
  type LeaseToken,
  MAX_COORDINATION_BATCH,
  type NamedLease
} from '@svc/contracts'
import type { Connections } from './connections.ts'
import { hadNoEffect } from './database-errors.ts'
import { statements } from './statements.ts'

const DEFAULT_PAGE = 100
/** Each grant holds a lock of the server's shared table of locks until the end of its batch. */
const MAX_GRANTS = 256

interface Request {
  readonly scope: string
  readonly key: string
  readonly holder: string
  readonly leaseMs: number
}

/** Named leases. Calls of one kind in one turn of the event loop become one call of the database. */
export class Leases {
  readonly #connections: Connections
  readonly #grants: CallBatches<Request, NamedLease | LeaseConflict>
  /** `leaseMs` null: the lease is released. */
  readonly #renewals: CallBatches<LeaseToken & { readonly leaseMs: number | null }, LeaseOutcome>

  constructor(connections: Connections) {
    this.#connections = connections
    this.#grants = new CallBatches({ run: requests => this.#grant(requests), maxWeight: MAX_GRANTS, hadNoEffect })
    this.#renewals = new CallBatches({
      run: leases => this.#renew(leases),
      maxWeight: MAX_COORDINATION_BATCH,
      hadNoEffect
    })
  }

  async grant(scope: string, key: string, holder: string, leaseMs: number): Promise<NamedLease | LeaseConflict> {
    check.name('grant: scope', scope)
    check.key('grant: key', key)
    check.name('grant: holder', holder)
    check.leaseMs('grant: leaseMs', leaseMs)
    const [granted] = await this.#grants.call([{ scope, key, holder, leaseMs }])
    return granted as NamedLease | LeaseConflict
  }

  async renew(lease: LeaseToken, leaseMs: number): Promise<LeaseOutcome> {
    checkLease('renew: lease', lease)
    check.leaseMs('renew: leaseMs', leaseMs)
    const [outcome] = await this.#renewals.call([{ ...lease, leaseMs }])
    return outcome as LeaseOutcome
  }

  async release(lease: LeaseToken): Promise<LeaseOutcome> {
    checkLease('release: lease', lease)
    const [outcome] = await this.#renewals.call([{ ...lease, leaseMs: null }])
    return outcome as LeaseOutcome
  }

  async revoke(scope: string, fence: number): Promise<boolean> {
    check.name('revoke: scope', scope)
    check.fence('revoke: fence', fence)
    return (await this.#connections.call(statements.revoke, [scope, fence])).length > 0
  }

  async list(
    scope: string,
    { after = 0, limit = DEFAULT_PAGE }: { readonly after?: number; readonly limit?: number } = {}
  ): Promise<readonly NamedLease[]> {
    check.name('leases: scope', scope)
    check.fence('leases: after', after)
    check.integer('leases: limit', limit, 1, MAX_COORDINATION_BATCH)
    const rows = await this.#connections.call(statements.leases, [scope, after, limit])
    return rows.map(row => ({
      scope,
      key: row.lock_key as string,
      holder: row.holder_node as string,
      fence: row.fence_token as number,
      expiresAt: row.expires_at as number
    }))
  }

  async #grant(requests: readonly Request[]): Promise<readonly (NamedLease | LeaseConflict)[]> {
    const rows = await this.#connections.call(statements.grant, [
      requests.map(({ scope }) => scope),
      requests.map(({ key }) => key),
      requests.map(({ holder }) => holder),
      requests.map(({ leaseMs }) => leaseMs)
    ])
    const results: (NamedLease | LeaseConflict)[] = []
    for (const row of rows) {
      const index = (row.ord as number) - 1
      const [holder, expiresAt] = [row.holder as string, row.expires_at as number]
      const { scope, key } = requests[index] as Request
      results[index] =
        row.granted === true
          ? { scope, key, holder, fence: row.fence as number, expiresAt }
          : { heldBy: holder, expiresAt }
    }
    return results
  }

  async #renew(
    leases: readonly (LeaseToken & { readonly leaseMs: number | null })[]
  ): Promise<readonly LeaseOutcome[]> {
    const rows = await this.#connections.call(statements.renew, [
      leases.map(({ scope }) => scope),
      leases.map(({ fence }) => fence),
      leases.map(({ holder }) => holder),
      leases.map(({ leaseMs }) => leaseMs)
    ])
    return rows.map(({ outcome }) => outcome as LeaseOutcome)
  }
}

function checkLease(where: string, lease: LeaseToken): void {
  check.name(`${where}.scope`, lease.scope)
  check.fence(`${where}.fence`, lease.fence)
  check.name(`${where}.holder`, lease.holder)
}
