import type { MeshSettings, NodeReport } from '@svc/contracts'
import { type Logger, raceAbort } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { isHttpStatus } from './http-status.ts'
import { Loop } from './loop.ts'
import type { Telemetry } from './telemetry.ts'

/** Interval of attempts to join if there is no heartbeat, in milliseconds. */
const JOIN_RETRY_MS = 5_000
/** Limit for the farewell of a node that stops, in milliseconds. */
const LEAVE_TIMEOUT_MS = 2_000

export interface MembershipOptions {
  readonly client: MeshClient
  readonly settings: Pick<MeshSettings, 'heartbeatSeconds'>
  readonly telemetry: Telemetry
  readonly log: Logger
  /** Returns the current record of this node. */
  readonly report: (signal: AbortSignal) => Promise<NodeReport>
}

/** Joins a mesh and stays in it by heartbeats. */
export class Membership {
  readonly #options: MembershipOptions
  #joined: string | null = null
  #ready = new Set<() => void>()

  constructor(options: MembershipOptions) {
    this.#options = options
  }

  /** Whether the node has joined. */
  get joined(): boolean {
    return this.#joined !== null
  }

  /** Resolves when the node has joined; rejects when the signal is aborted. */
  async whenJoined(signal: AbortSignal): Promise<void> {
    if (this.joined) return
    await raceAbort(signal, new Promise<void>(resolve => this.#ready.add(resolve)))
  }

  /** Joins, then sends heartbeats until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { heartbeatSeconds } = this.#options.settings
    const { log } = this.#options
    const intervalMs = heartbeatSeconds > 0 ? heartbeatSeconds * 1_000 : JOIN_RETRY_MS
    const stop = new AbortController()
    const loop = new Loop({ label: 'mesh heartbeat', intervalMs, log }, async signal => {
      // A control URL may be set later, by svc mesh join.
      if (!this.#options.client.configured) return this.#forget()
      if (this.#joined === null) await this.#join(signal)
      else await this.#beat(signal)
      // Without heartbeats, one successful join is enough.
      if (heartbeatSeconds === 0) stop.abort()
      return 'pause'
    })
    await loop.run(AbortSignal.any([signal, stop.signal]))
  }

  /** Removes the node from the mesh, so that others need not wait until its heartbeat is stale. Never rejects. */
  async leave(): Promise<void> {
    const id = this.#joined
    if (id === null) return
    this.#joined = null
    try {
      await this.#options.client.leave(id, AbortSignal.timeout(LEAVE_TIMEOUT_MS))
    } catch (error) {
      this.#options.log.debug('the node could not leave the mesh', { node: id, error })
    }
  }

  /** Notes that this machine has left the mesh, by svc mesh leave. */
  #forget(): 'pause' {
    const { log } = this.#options
    if (this.#joined !== null)
      log.info('no control plane is configured any more; svc mesh join joins again', { node: this.#joined })
    this.#joined = null
    return 'pause'
  }

  async #join(signal: AbortSignal): Promise<void> {
    const { client, telemetry, log } = this.#options
    const report = await this.#options.report(signal)
    try {
      await client.join(report, signal)
    } catch (error) {
      if (!signal.aborted)
        telemetry.record('mesh_http_join_err', {
          node_id: report.id,
          status: isHttpStatus(error) ? error.data.status : null
        })
      throw error
    }
    this.#joined = report.id
    telemetry.record('mesh_http_join_ok', { node_id: report.id })
    log.info('joined the mesh', { node: report.id, url: client.url })
    for (const ready of this.#ready) ready()
    this.#ready.clear()
  }

  async #beat(signal: AbortSignal): Promise<void> {
    // A control plane that does not know the node, such as one with an empty database, adds it again.
    await this.#options.client.heartbeat(await this.#options.report(signal), signal)
  }
}
