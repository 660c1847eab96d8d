import {
  type AgentEvent,
  type AgentEventKind,
  agentLabel,
  defaultQgatePolicy,
  goalSubmitting,
  type LineageRow,
  type Orchestrator,
  type OrchestratorPolicy,
  orchestrationErrors,
  orchestrator,
  type SubmitRequest,
  type Submitted,
  type TaskEnd,
  type TaskView,
  taskEnded,
  taskLabel,
  taskSubmitting
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'

type Planning = OrchestratorPolicy['planning']

const PLANNING: Planning = {
  enabled: true,
  router_enabled: true,
  replan_enabled: false,
  llm_synthesis_enabled: false,
  workflow_handoff_enabled: false,
  shadow_mode: false,
  auto_mode_enabled: true,
  rollout_percent: 100,
  adequacy_shadow: true,
  adequacy_enforce: false,
  depth: 'standard'
}

/** The part of an orchestrator that plans use: tasks in memory that the test ends. */
export class FakeOrchestrator {
  readonly requests: SubmitRequest[] = []
  readonly lineageRows: LineageRow[] = []
  readonly events: AgentEventKind[] = []
  planning: Planning = PLANNING
  campaign: string | null = null
  fatigued = false
  /** Errors that the next submissions throw, in order. */
  readonly refusals: unknown[] = []
  onEnd: (end: TaskEnd) => unknown = () => {}
  readonly #tasks = new Map<number, TaskView>()
  readonly #listeners = new Set<(event: AgentEvent) => void>()
  #last = 0

  get policy(): OrchestratorPolicy {
    return { planning: this.planning, campaign_id: this.campaign, qgate: defaultQgatePolicy } as OrchestratorPolicy
  }

  get attention(): Pick<Orchestrator['attention'], 'enabled' | 'state'> {
    return {
      enabled: true,
      state: () => ({ fatigued: this.fatigued }) as ReturnType<Orchestrator['attention']['state']>
    }
  }

  async submit(request: SubmitRequest): Promise<Submitted> {
    const refusal = this.refusals.shift()
    if (refusal !== undefined) throw refusal
    this.requests.push(request)
    const id = ++this.#last
    const parked = request.hints?.requires_approval === true
    this.#tasks.set(id, {
      id,
      description: request.description,
      status: { kind: parked ? 'BlockedOnApproval' : 'Queued' },
      priority: request.priority ?? 'Normal',
      agent_id: 1,
      files: request.files,
      ...(request.plan === undefined ? {} : { plan: request.plan })
    } as TaskView)
    return { task_id: id, agent_id: 1, status: parked ? 'BlockedOnApproval' : 'Queued', warnings: [] }
  }

  task(id: number): TaskView | null {
    return this.#tasks.get(id) ?? null
  }

  tasks(): readonly TaskView[] {
    return [...this.#tasks.values()]
  }

  begin(id: number): void {
    this.#set(id, { status: { kind: 'InProgress' }, started_at_ms: 1_000 })
    this.emit({ type: 'task_started', task_id: id, agent_id: 1 })
  }

  /** Ends a task. With `notify` false no tap is called, as if the process were killed at that moment. */
  async end(id: number, outcome: TaskEnd['outcome'], reason?: string, notify = true): Promise<void> {
    const status =
      outcome === 'completed'
        ? ({ kind: 'Completed' } as const)
        : outcome === 'failed'
          ? ({ kind: 'Failed', reason: reason ?? '' } as const)
          : ({ kind: 'Cancelled' } as const)
    const view = this.#set(id, { status, ended_at_ms: 3_500 })
    if (!notify) return
    await this.onEnd({
      task_id: id,
      outcome,
      ...(reason === undefined ? {} : { reason }),
      ...(view.plan === undefined ? {} : { plan: view.plan }),
      ...(view.started_at_ms === undefined ? {} : { started_at_ms: view.started_at_ms }),
      ended_at_ms: 3_500
    })
  }

  async cancel(id: number): Promise<void> {
    const { kind } = this.#known(id).status
    if (kind === 'Completed' || kind === 'Cancelled')
      throw orchestrationErrors.create('ORC_TRANSITION', `Task ${taskLabel(id)} is ${kind} at ${agentLabel(1)}`)
    await this.end(id, 'cancelled')
  }

  /** Removes a task, as in a process that does not know it. */
  forget(id: number): void {
    this.#tasks.delete(id)
  }

  emit(kind: AgentEventKind): void {
    this.events.push(kind)
    for (const listener of this.#listeners) listener({ id: this.events.length, timestamp_ms: 0, kind })
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async lineage(row: LineageRow): Promise<void> {
    this.lineageRows.push(row)
  }

  #set(id: number, change: Partial<TaskView>): TaskView {
    const next = { ...this.#known(id), ...change }
    this.#tasks.set(id, next)
    return next
  }

  #known(id: number): TaskView {
    const view = this.#tasks.get(id)
    if (view === undefined) throw orchestrationErrors.create('ORC_TASK_NOT_FOUND', `Task ${taskLabel(id)} not found`)
    return view
  }
}

/** Returns a plugin that provides the fake and reports ended tasks as the real orchestrator does. */
export function fakeOrchestratorPlugin(fake: FakeOrchestrator): Plugin {
  return definePlugin({
    name: 'orchestrator',
    provides: [orchestrator],
    hooks: [goalSubmitting, taskSubmitting, taskEnded],
    activate(ctx) {
      ctx.provide(orchestrator, fake as unknown as Orchestrator)
      fake.onEnd = end => ctx.trigger(taskEnded, end)
    }
  })
}
