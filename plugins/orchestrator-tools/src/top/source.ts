import {
  type AgentEvent,
  callDaemon,
  type DaemonState,
  type Orchestrator,
  orchPing,
  readDaemonState
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { reportOf } from '../status/orchestrator-status.ts'
import type { Origin, StatusReport } from './snapshot.ts'

/** Number of earlier events requested at the beginning. */
export const EARLIER = 10

/** An orchestrator that is looked at. */
export interface Source {
  readonly origin: Origin
  status(signal: AbortSignal): Promise<StatusReport>
  /** Emits the last events and every further one, until `signal` is aborted; then it resolves. Throws when the connection is lost. */
  follow(tell: (event: AgentEvent) => void, signal: AbortSignal): Promise<void>
}

/** The daemon of the project, or null if none runs. */
export async function daemonSource(projectRoot: string, token: string | undefined): Promise<Source | null> {
  const state = await readDaemonState(projectRoot)
  if (state === null) return null
  const source = new DaemonSource(state, token)
  return (await source.answers()) ? source : null
}

const CALL_MS = 5_000

class DaemonSource implements Source {
  readonly origin: Origin
  readonly #state: DaemonState
  readonly #token: { readonly token?: string }

  constructor(state: DaemonState, token: string | undefined) {
    this.#state = state
    this.#token = token === undefined ? {} : { token }
    this.origin = { kind: 'daemon', address: state.socket, pid: state.pid }
  }

  /** Throws `DMN_UNAUTHORIZED`: another source would not be the one that was meant. */
  async answers(): Promise<boolean> {
    try {
      const answer = await callDaemon(this.#state, orchPing.id, {}, { timeoutMs: CALL_MS, ...this.#token })
      return (answer as { readonly repository_id?: unknown } | null)?.repository_id === this.#state.repository_id
    } catch (error) {
      if (isSvcError(error, 'DMN_UNAUTHORIZED')) throw error
      return false
    }
  }

  async status(signal: AbortSignal): Promise<StatusReport> {
    const options = { signal, timeoutMs: CALL_MS, ...this.#token }
    return (await callDaemon(this.#state, 'orch.status', {}, options)) as StatusReport
  }

  async follow(tell: (event: AgentEvent) => void, signal: AbortSignal): Promise<void> {
    const onEvent = (event: unknown): void => tell(event as AgentEvent)
    try {
      await callDaemon(
        this.#state,
        'orch.events',
        { follow: true, limit: EARLIER },
        { signal, onEvent, ...this.#token }
      )
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

/** The orchestrator of this process. */
export function localSource(orchestrator: Orchestrator): Source {
  return {
    origin: { kind: 'in_process' },
    status: async () => reportOf(orchestrator.status()),
    async follow(tell, signal) {
      for (const event of orchestrator.recentEvents(EARLIER)) tell(event)
      const end = orchestrator.subscribe(tell)
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      end()
    }
  }
}
