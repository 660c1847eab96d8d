import type { ExecLease, MeshSettings, NodeReport } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { isHttpStatus } from './http-status.ts'
import { Loop } from './loop.ts'
import { renewalInterval } from './message-lease.ts'

export interface LeaseHolderOptions {
  readonly client: MeshClient
  readonly settings: Pick<MeshSettings, 'heartbeatSeconds'>
  readonly report: NodeReport
  readonly log: Logger
  /** Called after each grant. */
  readonly onGrant: () => void
}

/**
 * The node that holds the leases of tasks that this machine delegates. It joins with its first lease. All processes of
 * a machine share it, since each task has its own lease.
 */
export class LeaseHolder {
  readonly #options: LeaseHolderOptions
  readonly #joinedIds = new Set<string>()
  #renewalMs = Number.POSITIVE_INFINITY
  #wake = (): void => {}

  constructor(options: LeaseHolderOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.report.id
  }

  /** Interval in milliseconds at which leases must be renewed: a third of the last one. Infinity before the first one. */
  get renewalMs(): number {
    return this.#renewalMs
  }

  /** Joins if needed, and grants a lease. */
  async grant(scopeKey: string, signal?: AbortSignal): Promise<ExecLease> {
    const { serverMs, ...lease } = await this.#asMember(
      this.id,
      () => this.#options.client.grant(this.id, scopeKey, signal),
      signal
    )
    this.#renewalMs = renewalInterval(lease.expires_unix_ms, serverMs)
    this.#options.onGrant()
    return lease
  }

  /** Extends a lease. Throws `MND_HTTP_STATUS` with 403, 404 or 409 if this machine may no longer hold it. */
  async renew(lease: string, holder: string, signal?: AbortSignal): Promise<void> {
    await this.#asMember(holder, () => this.#options.client.renewLease(lease, holder, signal), signal)
  }

  async release(lease: string, holder: string, signal?: AbortSignal): Promise<void> {
    await this.#options.client.releaseLease(lease, holder, signal)
  }

  /** Sends heartbeats once the node has joined, so that others do not regard its leases as abandoned. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, report, settings, log } = this.#options
    if (settings.heartbeatSeconds === 0) return
    const intervalMs = settings.heartbeatSeconds * 1_000
    const loop = new Loop({ label: 'heartbeat of the lease holder', intervalMs, log }, async signal => {
      // After svc mesh leave, the node joins again with its next lease.
      if (!client.configured) this.#joinedIds.clear()
      if (this.#joinedIds.has(report.id)) await client.heartbeat(report, signal)
      return 'pause'
    })
    this.#wake = () => loop.wake()
    await loop.run(signal)
  }

  /** Runs a call that only a member may make. Joins before the first one, and once more if the plane has forgotten it. */
  async #asMember<A>(id: string, call: () => Promise<A>, signal: AbortSignal | undefined): Promise<A> {
    const isNew = !this.#joinedIds.has(id)
    if (isNew) await this.#join(id, signal)
    try {
      return await call()
    } catch (error) {
      if (isNew || !isHttpStatus(error, 403)) throw error
      await this.#join(id, signal)
      return call()
    }
  }

  async #join(id: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#options.client.join({ ...this.#options.report, id }, signal)
    this.#joinedIds.add(id)
    this.#wake()
  }
}
