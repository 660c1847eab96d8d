import { hostname } from 'node:os'
import {
  callDaemon,
  DAEMON_PROTOCOL,
  type DaemonAddress,
  type Orchestrator,
  type OrchestratorPolicy,
  orchPing,
  readDaemonState
} from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'

/** Kinds of calls to a daemon, by the switch that allows them. */
export type Pilot = 'task_status' | 'start' | 'status_tool' | 'task_writes' | 'agent_writes'

const PILOTS: readonly Pilot[] = ['task_status', 'start', 'status_tool', 'task_writes', 'agent_writes']
const READS: readonly Pilot[] = ['task_status', 'start', 'status_tool']
const PROBE_MS = 1_000
const CALL_MS = 30_000
/** Addresses without a peer: none, switched off, or the streams of this process. */
const NO_PEER = new Set(['', '0', 'off', 'stdio', '-', 'stdin'])

/**
 * A running daemon of this repository, which tools may call instead of the orchestrator in their own process. Its
 * repository is requested once. If it serves another repository or does not run, all tools run locally.
 */
export class DaemonPilot {
  readonly #setting: string
  readonly #projectRoot: string
  readonly #orchestrator: Orchestrator
  readonly #log: Logger
  /** Address of the daemon, once it has been checked; null if it cannot be used. */
  #peer: Promise<DaemonAddress | null> | undefined

  /** `setting`: address of the daemon. For port 0, the address is read from the state file of the project's daemon. */
  constructor(setting: string, projectRoot: string, orchestrator: Orchestrator, log: Logger) {
    this.#setting = setting.replace(/^tcp:\/\//, '').replace(/^unix:/, '')
    this.#projectRoot = projectRoot
    this.#orchestrator = orchestrator
    this.#log = log
  }

  /** True if the settings send any kind of call to a daemon. */
  get isWanted(): boolean {
    return PILOTS.some(pilot => isSwitchedOn(this.#orchestrator.policy.daemon_pilots, pilot))
  }

  /** Requests the daemon's repository, once. Returns true if it is this one. */
  async probe(): Promise<boolean> {
    this.#peer ??= this.#alignedPeer()
    return (await this.#peer) !== null
  }

  /** Returns true if this kind of call goes to the daemon. */
  async steers(pilot: Pilot): Promise<boolean> {
    return isSwitchedOn(this.#orchestrator.policy.daemon_pilots, pilot) && (await this.probe())
  }

  /**
   * Calls the daemon. Returns undefined if the call should run locally: the switch is off, or the daemon cannot be
   * reached, which is logged. Throws all other errors, since the daemon may have executed a call whose response was lost.
   */
  async ask(pilot: Pilot, method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (!(await this.steers(pilot))) return undefined
    try {
      return await this.call(method, params, signal)
    } catch (error) {
      if (!isSvcError(error, 'DMN_UNREACHABLE') && !isSvcError(error, 'DMN_UNAUTHORIZED')) throw error
      this.#log.warn(`the daemon did not respond to ${method}; the call runs in this process`, {
        reason: error.message
      })
      return undefined
    }
  }

  /** Calls the daemon, and throws every error. Call {@link steers} first. */
  async call(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const options = { timeoutMs: CALL_MS, ...(signal === undefined ? {} : { signal }) }
    return callDaemon((await this.#peer) ?? { socket: this.#setting }, method, params, options)
  }

  async #alignedPeer(): Promise<DaemonAddress | null> {
    const peer = await this.#address()
    if (peer === null) return null
    const address = peer.socket
    let pong: { readonly repository_id?: unknown; readonly protocol?: unknown } | null
    try {
      pong = (await callDaemon(peer, orchPing.id, {}, { timeoutMs: PROBE_MS })) as typeof pong
    } catch (error) {
      const level = isSvcError(error, 'DMN_UNAUTHORIZED') ? 'warn' : 'debug'
      this.#log[level](`no daemon responds at ${address}: ${(error as Error).message}`)
      return null
    }
    const { repositoryId, policy } = this.#orchestrator
    const { repository_id, protocol } = pong ?? {}
    if (repository_id === repositoryId && protocol === DAEMON_PROTOCOL) return peer
    const message =
      repository_id === repositoryId
        ? `the daemon at ${address} is not used: it speaks ${String(protocol)}, not ${DAEMON_PROTOCOL}`
        : `the daemon at ${address} is not used: it serves the repository ${String(repository_id)}, not ${repositoryId}`
    this.#log[policy.daemon_pilots.repository_id_strict ? 'error' : 'warn'](message)
    return null
  }

  /** Returns the daemon's address; null if there is no daemon, or if this process is the daemon. */
  async #address(): Promise<DaemonAddress | null> {
    if (NO_PEER.has(this.#setting)) return null
    const state = await readDaemonState(this.#projectRoot)
    if (state?.pid === process.pid && (state.host === null || state.host === hostname())) return null
    if (/:0$/.test(this.#setting) || this.#setting === state?.socket) return state
    return { socket: this.#setting }
  }
}

function isSwitchedOn(pilots: OrchestratorPolicy['daemon_pilots'], pilot: Pilot): boolean {
  return pilots[pilot] || (READS.includes(pilot) ? pilots.reads : pilots.writes)
}
