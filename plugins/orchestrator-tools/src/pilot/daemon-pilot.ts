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

/** Requests to a daemon, by the switch that allows them. */
export type Pilot = 'task_status' | 'start' | 'status_tool' | 'task_writes' | 'agent_writes'

const PILOTS: readonly Pilot[] = ['task_status', 'start', 'status_tool', 'task_writes', 'agent_writes']
const READS: readonly Pilot[] = ['task_status', 'start', 'status_tool']
const PROBE_MS = 1_000
const CALL_MS = 30_000
/** Addresses that name no peer: nothing, switched off, or this process's own streams. */
const NO_PEER = new Set(['', '0', 'off', 'stdio', '-', 'stdin'])

/**
 * A running daemon of this repository, which tools may ask in place of the orchestrator in their own process. It is asked once
 * whose it is; where it is not of this repository, or not there, every tool uses its own orchestrator.
 */
export class DaemonPilot {
  readonly #setting: string
  readonly #projectRoot: string
  readonly #orchestrator: Orchestrator
  readonly #log: Logger
  /** Address of the daemon that may be asked; null for none. */
  #peer: Promise<DaemonAddress | null> | undefined

  /** `setting` is the address of the daemon; a port of 0 stands for where the daemon of the project says that it listens. */
  constructor(setting: string, projectRoot: string, orchestrator: Orchestrator, log: Logger) {
    this.#setting = setting.replace(/^tcp:\/\//, '').replace(/^unix:/, '')
    this.#projectRoot = projectRoot
    this.#orchestrator = orchestrator
    this.#log = log
  }

  /** Whether any kind of call goes to a daemon that is of this repository. */
  get isWanted(): boolean {
    return PILOTS.some(pilot => isSwitchedOn(this.#orchestrator.policy.daemon_pilots, pilot))
  }

  /** Asks the daemon for its repository, once, and returns whether it is this one. */
  async probe(): Promise<boolean> {
    this.#peer ??= this.#alignedPeer()
    return (await this.#peer) !== null
  }

  /** Whether this kind of call goes to the daemon. */
  async steers(pilot: Pilot): Promise<boolean> {
    return isSwitchedOn(this.#orchestrator.policy.daemon_pilots, pilot) && (await this.probe())
  }

  /**
   * The daemon's answer, or undefined if this kind of call does not go there. Where the daemon cannot be reached, undefined is
   * returned, and that is logged. Everything else is thrown: a call that was lost on its way may have been done, and what the
   * daemon refused is refused.
   */
  async ask(pilot: Pilot, method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (!(await this.steers(pilot))) return undefined
    try {
      return await this.call(method, params, signal)
    } catch (error) {
      if (!isSvcError(error, 'DMN_UNREACHABLE') && !isSvcError(error, 'DMN_UNAUTHORIZED')) throw error
      this.#log.warn(`the daemon did not answer ${method}; this process does it itself`, { reason: error.message })
      return undefined
    }
  }

  /** Throws whatever went wrong. To be called where {@link steers} said so. */
  async call(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const options = { timeoutMs: CALL_MS, ...(signal === undefined ? {} : { signal }) }
    return callDaemon((await this.#peer) ?? { socket: this.#setting }, method, params, options)
  }

  async #alignedPeer(): Promise<DaemonAddress | null> {
    const peer = await this.#address()
    if (peer === null) return null
    const address = peer.socket
    let answer: { readonly repository_id?: unknown; readonly protocol?: unknown } | null
    try {
      answer = (await callDaemon(peer, orchPing.id, {}, { timeoutMs: PROBE_MS })) as typeof answer
    } catch (error) {
      const level = isSvcError(error, 'DMN_UNAUTHORIZED') ? 'warn' : 'debug'
      this.#log[level](`no daemon answers at ${address}: ${(error as Error).message}`)
      return null
    }
    const { repositoryId, policy } = this.#orchestrator
    const { repository_id, protocol } = answer ?? {}
    if (repository_id === repositoryId && protocol === DAEMON_PROTOCOL) return peer
    const words =
      repository_id === repositoryId
        ? `the daemon at ${address} speaks ${String(protocol)}, not ${DAEMON_PROTOCOL}, and is not used`
        : `the daemon at ${address} is of another repository, and is not used: ${String(repository_id)}, not ${repositoryId}`
    this.#log[policy.daemon_pilots.repository_id_strict ? 'error' : 'warn'](words)
    return null
  }

  /** Null if there is no daemon to ask, also where this process is the daemon. */
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
