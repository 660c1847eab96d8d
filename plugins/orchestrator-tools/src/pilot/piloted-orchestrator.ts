import {
  type Attestation,
  type Completion,
  DelegatingOrchestrator,
  type Orchestrator,
  type Priority,
  type RetiredAgent,
  type SpawnedAgent,
  type SpawnRequest,
  type SubmitOrigin,
  type SubmitRequest,
  type Submitted
} from '@svc/contracts'
import type { DaemonPilot } from './daemon-pilot.ts'

/** Orchestrator that sends writes to the daemon of the repository if it is used, and otherwise runs them locally. */
export class PilotedOrchestrator extends DelegatingOrchestrator {
  readonly #pilot: DaemonPilot

  constructor(current: () => Orchestrator, pilot: DaemonPilot) {
    super(current)
    this.#pilot = pilot
  }

  /** Submits a task. It is admitted here, since taps of this process may reject it, and again by the daemon. */
  override async submit(request: SubmitRequest, origin?: SubmitOrigin): Promise<Submitted> {
    if (origin === undefined || !(await this.#pilot.steers('task_writes'))) return super.submit(request, origin)
    const admission = await this.admit(request, origin)
    const answer = await this.#pilot.ask('task_writes', 'orch.submit_task', daemonRequest(admission.request))
    if (answer === undefined) return super.submit(request, { ...origin, admission })
    return { ...(answer as Submitted), warnings: admission.warnings, admission, remote: true }
  }

  override async complete(task: number, attestation?: Attestation): Promise<Completion> {
    const answer = await this.#pilot.ask('task_writes', 'orch.complete_task', { task_id: task, attestation })
    if (answer === undefined) return super.complete(task, attestation)
    // A daemon of an earlier version does not say whether a gate sent the task back.
    const { requeued } = (answer ?? {}) as Partial<Completion>
    return requeued === undefined ? { completed: true } : { completed: false, requeued }
  }

  override async fail(task: number, reason: string): Promise<void> {
    const answer = await this.#pilot.ask('task_writes', 'orch.fail_task', { task_id: task, reason })
    if (answer === undefined) await super.fail(task, reason)
  }

  override async cancel(task: number): Promise<void> {
    const answer = await this.#pilot.ask('task_writes', 'orch.cancel_task', { task_id: task })
    if (answer === undefined) await super.cancel(task)
  }

  override async reorder(task: number, priority: Priority): Promise<void> {
    const params = { task_id: task, priority: priority.toLowerCase() }
    const answer = await this.#pilot.ask('task_writes', 'orch.reorder_task', params)
    if (answer === undefined) await super.reorder(task, priority)
  }

  override async drainAgent(agent: number): Promise<number> {
    const answer = await this.#pilot.ask('task_writes', 'orch.drain_agent', { agent_id: agent })
    return answer === undefined ? super.drainAgent(agent) : (answer as { drained_count: number }).drained_count
  }

  override async rebalance(): Promise<number> {
    const answer = await this.#pilot.ask('task_writes', 'orch.rebalance', {})
    return answer === undefined ? super.rebalance() : (answer as { rebalanced: number }).rebalanced
  }

  override async spawnAgent(request: SpawnRequest): Promise<SpawnedAgent> {
    const { name, dynamic = false, reason, parent_agent_id, source_task_id } = request
    const params = { name, dynamic: request.dynamic, delegation_reason: reason, parent_agent_id, source_task_id }
    const answer = await this.#pilot.ask('agent_writes', 'orch.spawn_agent_ext', params)
    if (answer === undefined) return super.spawnAgent(request)
    const { agent_id: id } = answer as { readonly agent_id: number }
    return { id, name, dynamic, ...(parent_agent_id === undefined ? undefined : { parent_agent_id }) }
  }

  override async retireAgent(agent: number): Promise<RetiredAgent> {
    const answer = await this.#pilot.ask('agent_writes', 'orch.retire_agent', { agent_id: agent })
    if (answer === undefined) return super.retireAgent(agent)
    return { remaining_tasks: (answer as { remaining_tasks: number }).remaining_tasks, tasks: [] }
  }

  override async pauseAgent(agent: number): Promise<void> {
    const answer = await this.#pilot.ask('agent_writes', 'orch.pause_agent', { agent_id: agent })
    if (answer === undefined) await super.pauseAgent(agent)
  }

  override async resumeAgent(agent: number): Promise<void> {
    const answer = await this.#pilot.ask('agent_writes', 'orch.resume_agent', { agent_id: agent })
    if (answer === undefined) await super.resumeAgent(agent)
  }
}

/** Returns the params of `orch.submit_task` for a request. */
function daemonRequest({ description, files, priority, agent_name, capabilities, session_id, hints }: SubmitRequest) {
  return {
    description,
    file_manifest: files,
    priority,
    target_agent: agent_name,
    capability_requirements: capabilities,
    session_id,
    enqueue_hints: hints,
    planning_mode: 'direct'
  }
}
