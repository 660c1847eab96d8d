import {
  type AgentEvent,
  callDaemon,
  type DaemonState,
  type Orchestrator,
  orchPing,
  type RepositoryTasks,
  readDaemonState
} from '@svc/contracts'
import { isSvcError, type Ref } from '@svc/plugin-sdk'
import { processReport, reportOf } from '../status/orchestrator-status.ts'
import type { Origin, StatusReport } from './snapshot.ts'

/** Number of past events to show. */
export const MAX_EVENTS = 10

/** Source of status and events. */
export interface Source {
  readonly origin: Origin
  status(signal: AbortSignal): Promise<StatusReport>
  /**
   * Calls `onEvent` for the last events and every new one. Resolves when `signal` is aborted; throws if the connection is
   * lost.
   */
  follow(onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<void>
}

/** Returns the daemon of the project; null if none runs. */
export async function daemonSource(
  projectRoot: string,
  token: string | undefined,
  own: boolean
): Promise<Source | null> {
  const state = await readDaemonState(projectRoot)
  if (state === null) return null
  const source = new DaemonSource(state, token, own)
  return (await source.isAvailable()) ? source : null
}

const CALL_MS = 5_000

class DaemonSource implements Source {
  readonly origin: Origin
  readonly #state: DaemonState
  readonly #own: boolean
  readonly #token: { readonly token?: string }

  constructor(state: DaemonState, token: string | undefined, own: boolean) {
    this.#state = state
    this.#own = own
    this.#token = token === undefined ? {} : { token }
    this.origin = { kind: 'daemon', address: state.socket, pid: state.pid }
  }

  /** Returns true if the daemon responds. Throws `DMN_UNAUTHORIZED`, so that the local orchestrator is not shown instead. */
  async isAvailable(): Promise<boolean> {
    try {
      const pong = await callDaemon(this.#state, orchPing.id, {}, { timeoutMs: CALL_MS, ...this.#token })
      return (pong as { readonly repository_id?: unknown } | null)?.repository_id === this.#state.repository_id
    } catch (error) {
      if (isSvcError(error, 'DMN_UNAUTHORIZED')) throw error
      return false
    }
  }

  async status(signal: AbortSignal): Promise<StatusReport> {
    const options = { signal, timeoutMs: CALL_MS, ...this.#token }
    return (await callDaemon(this.#state, 'orch.status', { own: this.#own }, options)) as StatusReport
  }

  async follow(onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<void> {
    try {
      await callDaemon(
        this.#state,
        'orch.events',
        { follow: true, limit: MAX_EVENTS },
        { signal, onEvent: event => onEvent(event as AgentEvent), ...this.#token }
      )
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

/** Returns the orchestrator of this process as a source. */
export function localSource(orchestrator: Orchestrator, tasks: Ref<RepositoryTasks>, own: boolean): Source {
  return {
    origin: { kind: 'in_process' },
    async status(signal) {
      const { items } = await tasks.current.processes(signal)
      const processes = items.filter(process => process.own || !own).map(processReport)
      return { ...reportOf(orchestrator.status()), processes }
    },
    async follow(onEvent, signal) {
      for (const event of orchestrator.recentEvents(MAX_EVENTS)) onEvent(event)
      const end = orchestrator.subscribe(onEvent)
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      end()
    }
  }
}
