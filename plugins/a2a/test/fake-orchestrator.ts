import {
  type AgentEvent,
  type AgentEventKind,
  type AgentView,
  type AttentionEventKind,
  type AttentionState,
  type InterruptionOutcome,
  type InterruptionSignals,
  type Orchestrator,
  orchestrator,
  type TaskView,
  taskSubmitting
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'

export interface Debit {
  readonly milliseconds: number
  readonly kind: AttentionEventKind
  readonly frequency: boolean
}

/** Fake of the part of the orchestrator that messages and questions use; the test sets the attention. */
export class FakeOrchestrator {
  readonly decisions: InterruptionSignals[] = []
  readonly debits: Debit[] = []
  readonly emitted: AgentEventKind[] = []
  readonly tasksNow: TaskView[] = []
  outcome: InterruptionOutcome = 'InterruptNow'
  focus: AttentionState['focus_depth'] = 'Ambient'
  readonly #agents = new Map<number, AgentView>()
  readonly #listeners = new Set<(event: AgentEvent) => void>()
  #events = 0

  constructor(agents = 0) {
    for (let id = 1; id <= agents; id += 1) this.join(id)
  }

  join(id: number, session?: string): void {
    const bound = session === undefined ? {} : { session_id: session }
    this.#agents.set(id, { id, name: `agent-${id}`, ...bound } as AgentView)
  }

  retire(id: number): void {
    this.#agents.delete(id)
    this.notify({ type: 'agent_retired', agent_id: id })
  }

  notify(kind: AgentEventKind): void {
    this.#events += 1
    const event = { id: this.#events, timestamp_ms: Date.now(), kind }
    for (const listener of this.#listeners) listener(event)
  }

  /** The faked part of the service; a test that needs another member fails. */
  get service(): Orchestrator {
    const part = {
      repositoryId: 'repository',
      policy: { account_id: 'account' },
      attention: {
        enabled: true,
        state: () => ({ focus_depth: this.focus }),
        decide: (signals: InterruptionSignals) => {
          this.decisions.push(signals)
          const { channel, surface } = signals
          return { surface, channel, decision: this.outcome, rule: 9, reason: 'as the test says', scaled_cost_ms: 10 }
        },
        debit: (milliseconds: number, kind: AttentionEventKind, { frequency = true } = {}) => {
          this.debits.push({ milliseconds, kind, frequency })
        }
      },
      trust: { of: () => ({ score: 0.5 }) },
      agents: () => [...this.#agents.values()],
      agent: (id: number) => this.#agents.get(id) ?? null,
      tasks: () => this.tasksNow,
      emit: (kind: AgentEventKind) => {
        this.emitted.push(kind)
        this.notify(kind)
      },
      subscribe: (listener: (event: AgentEvent) => void) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      }
    }
    return part as unknown as Orchestrator
  }

  plugin(): Plugin {
    return definePlugin({
      name: 'orchestrator',
      provides: [orchestrator],
      hooks: [taskSubmitting],
      activate: ctx => ctx.provide(orchestrator, this.service)
    }) as Plugin
  }
}
