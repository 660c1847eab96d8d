import { callDaemon, DAEMON_PROTOCOL, type Orchestrator, type OrchestratorPolicy, orchPing } from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'

/** What may be asked of a daemon, by the switch that lets it. */
export type Pilot = 'task_status' | 'start' | 'status_tool' | 'task_writes' | 'agent_writes'

const READS: readonly Pilot[] = ['task_status', 'start', 'status_tool']
const PROBE_MS = 1_000
const CALL_MS = 30_000
/** Addresses that name no peer: nothing, switched off, or this process's own streams. */
const NO_PEER = new Set(['', '0', 'off', 'stdio', '-', 'stdin'])

/**
 * A running daemon of this repository, which tools may ask in place of the orchestrator in their own process. It is asked once,
 * at the start, whose it is; where it is not of this repository, or not there, every tool uses its own orchestrator.
 */
export class DaemonPilot {
  readonly #address: string
  readonly #orchestrator: Orchestrator
  readonly #log: Logger
  #aligned: Promise<boolean> | undefined

  /** `address` is the daemon's setting; it is the daemon itself that listens where this process `serves` it. */
  constructor(address: string, orchestrator: Orchestrator, log: Logger) {
    this.#address = address.replace(/^tcp:\/\//, '').replace(/^unix:/, '')
    this.#orchestrator = orchestrator
    this.#log = log
  }

  /** Asks the daemon whose it is, once. */
  probe(): Promise<boolean> {
    this.#aligned ??= this.#ask()
    return this.#aligned
  }

  /** Whether this kind of call goes to the daemon. */
  async steers(pilot: Pilot): Promise<boolean> {
    return isSwitchedOn(this.#orchestrator.policy.daemon_pilots, pilot) && (await this.probe())
  }

  /**
   * The daemon's answer, or undefined where this kind of call does not go there. An error of the operation itself is thrown; one
   * of the way there is logged, and undefined is returned.
   */
  async ask(pilot: Pilot, method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (!(await this.steers(pilot))) return undefined
    try {
      return await this.call(method, params, signal)
    } catch (error) {
      if (!isSvcError(error) || !isOfTheWay(error.code)) throw error
      this.#log.warn(`the daemon at ${this.#address} did not answer ${method}; this process does it itself`, {
        code: error.code
      })
      return undefined
    }
  }

  /** Throws whatever went wrong. */
  call(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const options = { timeoutMs: CALL_MS, ...(signal === undefined ? {} : { signal }) }
    return callDaemon({ socket: this.#address }, method, params, options)
  }

  async #ask(): Promise<boolean> {
    if (NO_PEER.has(this.#address)) return false
    let answer: { readonly repository_id?: unknown; readonly protocol?: unknown }
    try {
      answer = (await callDaemon({ socket: this.#address }, orchPing.id, {}, { timeoutMs: PROBE_MS })) as typeof answer
    } catch (error) {
      this.#log.debug(`no daemon answers at ${this.#address}`, { error })
      return false
    }
    const { repositoryId, policy } = this.#orchestrator
    if (answer.repository_id === repositoryId && answer.protocol === DAEMON_PROTOCOL) return true
    const words = `the daemon at ${this.#address} is of another repository, and is not used: ${String(answer.repository_id)}, not ${repositoryId}`
    if (policy.daemon_pilots.repository_id_strict) this.#log.error(words)
    else this.#log.warn(words)
    return false
  }
}

function isSwitchedOn(pilots: OrchestratorPolicy['daemon_pilots'], pilot: Pilot): boolean {
  return pilots[pilot] || (READS.includes(pilot) ? pilots.reads : pilots.writes)
}

/** A call that was lost on its way may have been done: that one is not done again here. */
function isOfTheWay(code: string): boolean {
  return code === 'DMN_UNREACHABLE' || code === 'DMN_BAD_ANSWER' || code === 'DMN_UNAUTHORIZED'
}
