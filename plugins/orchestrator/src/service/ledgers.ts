import {
  type AgentEventKind,
  type Attention,
  agentLabel,
  type Budgets,
  type DatabaseStore,
  orchestrationErrors,
  type Trust
} from '@svc/contracts'
import type { AttentionLedger } from '../policy/attention.ts'
import type { BudgetLedger } from '../policy/budgets.ts'
import { costHistory, costRow } from '../policy/cost-records.ts'
import type { TrustLedger } from '../policy/trust.ts'
import type { Clock } from '../state/ports.ts'
import type { CommandRunner } from './command-runner.ts'

/** Events of the ledgers that no command has published yet. */
export class PendingEvents {
  #events: AgentEventKind[] = []

  readonly add = (event: AgentEventKind): void => {
    this.#events.push(event)
  }

  drain(): readonly AgentEventKind[] {
    if (this.#events.length === 0) return this.#events
    const events = this.#events
    this.#events = []
    return events
  }
}

/** Returns the attention ledger as a service whose changes are persisted. */
export function attentionService(
  ledger: AttentionLedger,
  pendingEvents: PendingEvents,
  runner: CommandRunner
): Attention {
  const persisted = <A>(use: () => A): A => {
    let result: A | undefined
    runner.note('attention', (_world, changes) => {
      result = use()
      changes.events.push(...pendingEvents.drain())
      changes.touch('attention', 'global')
    })
    return result as A
  }
  return {
    get enabled() {
      return ledger.enabled
    },
    state: () => ledger.state(),
    events: limit => ledger.events(limit),
    decide: signals => persisted(() => ledger.decide(signals)),
    debit: (milliseconds, why, options) => persisted(() => ledger.debit(milliseconds, why, options)),
    reset: (maxMs, reason) =>
      runner.run((_world, changes) => {
        ledger.reset(maxMs, reason)
        changes.events.push(...pendingEvents.drain())
        changes.touch('attention', 'global')
      })
  }
}

export function trustService(ledger: TrustLedger, assertAgent: (agent: number) => void, runner: CommandRunner): Trust {
  return {
    of: agent => ledger.of(agent),
    override: (agent, tier, score, reason) =>
      runner.run((_world, changes) => {
        assertAgent(agent)
        const view = ledger.override(agent, tier, score)
        changes.touch('trust', agent)
        changes.event({ type: 'trust_override', agent_id: agent, tier: view.tier, reason })
        return view
      })
  }
}

export interface BudgetServiceDependencies {
  readonly ledger: BudgetLedger
  readonly runner: CommandRunner
  readonly assertAgent: (agent: number) => void
  readonly database: () => Pick<DatabaseStore, 'query'> | null
  readonly now: Clock
  /** Returns true if costs are published as events. */
  readonly reportsCosts: () => boolean
}

export function budgetService(deps: BudgetServiceDependencies): Budgets {
  const { ledger, runner } = deps
  return {
    of: agent => ledger.of(agent),
    all: () => ledger.all(),
    set: (agent, limits) =>
      runner.run((_world, changes) => {
        deps.assertAgent(agent)
        const budget = ledger.set(agent, limits)
        changes.touch('budget', `agent:${agent}`)
        return budget
      }),
    record: cost =>
      runner.run((_world, changes) => {
        if (!Number.isFinite(cost.cost_usd) || cost.cost_usd < 0 || cost.input_tokens < 0 || cost.output_tokens < 0) {
          throw orchestrationErrors.create(
            'ORC_VALIDATION_FAILED',
            `Task validation failed: the costs of ${agentLabel(cost.agent_id)} are not valid amounts`,
            { hint: 'tokens and US dollars must be numbers of at least 0' }
          )
        }
        const { signal, keys } = ledger.record(cost)
        for (const key of keys) changes.touch('budget', key)
        changes.rows.push(costRow(cost, deps.now()))
        const { agent_id, provider, model, input_tokens, output_tokens, cost_usd } = cost
        if (deps.reportsCosts()) {
          const facts = { agent_id, provider, model, input_tokens, output_tokens, cost_usd }
          changes.event({ type: 'cost_incurred', ...facts })
        }
        if (signal !== 'Normal') changes.event({ type: 'budget_alert', agent_id, signal })
        return signal
      }),
    toolCalled: (agent, output) => {
      const [before, repeatsBefore] = [ledger.signal(agent), ledger.outputRepeats(agent)]
      const signal = ledger.toolCalled(agent, output)
      const alert = signal !== before && signal !== 'Normal' ? signal : null
      const warning = repeatsBefore < 2 && ledger.outputRepeats(agent) >= 2 ? 'OutputRepeated' : null
      const reported = alert ?? warning
      if (reported !== null)
        runner.note('a tool call', (_world, changes) =>
          changes.event({ type: 'budget_alert', agent_id: agent, signal: reported })
        )
      return signal
    },
    history: async filter => {
      const database = deps.database()
      return database === null ? ledger.costs(filter) : costHistory(database, filter)
    }
  }
}
