import type { LineageRow, Orchestrator } from '@svc/contracts'
import type { RouterDecision } from './assess/router.ts'

const PREVIEW_CHARACTERS = 240

/** Emits orchestrator events and lineage rows about plans. Changes to plans are announced after they are stored. */
export class Announcements {
  readonly #orchestrator: Orchestrator

  constructor(orchestrator: Orchestrator) {
    this.#orchestrator = orchestrator
  }

  routed({ strategy, complexity, confidence, rationale }: RouterDecision): void {
    this.#orchestrator.emit({ type: 'planning_routed', strategy, complexity, confidence, rationale })
  }

  async created(plan: {
    readonly id: string
    readonly strategy: string
    readonly session: string | null
  }): Promise<void> {
    this.#orchestrator.emit({
      type: 'plan_session_created',
      plan_session_id: plan.id,
      strategy: plan.strategy,
      version: 1
    })
    this.#orchestrator.emit({ type: 'plan_version_created', plan_session_id: plan.id, version: 1 })
    await this.#lineage('plan_session_created', plan, { strategy: plan.strategy, version: 1 })
  }

  async replanned(
    plan: { readonly id: string; readonly session: string | null },
    change: { readonly node: string; readonly reason: string; readonly version: number }
  ): Promise<void> {
    this.#orchestrator.emit({
      type: 'replan_triggered',
      plan_session_id: plan.id,
      node_id: change.node,
      reason: change.reason,
      next_version: change.version
    })
    this.#orchestrator.emit({
      type: 'plan_version_created',
      plan_session_id: plan.id,
      version: change.version,
      parent_version: change.version - 1
    })
    await this.#lineage(
      'plan_replan_triggered',
      plan,
      { reason: change.reason, version: change.version },
      change.node === '' ? {} : { plan_node_id: change.node }
    )
  }

  handoffRequested(plan: string, workflow: string): void {
    this.#orchestrator.emit({ type: 'workflow_handoff_requested', plan_session_id: plan, workflow_name: workflow })
  }

  async handedOff(
    plan: { readonly id: string; readonly session: string | null },
    handoff: { readonly goal: string; readonly workflow: string; readonly task: number }
  ): Promise<void> {
    this.#orchestrator.emit({ type: 'workflow_handoff_completed', plan_session_id: plan.id, task_id: handoff.task })
    await this.#lineage(
      'workflow_handoff_started',
      plan,
      { goal_preview: handoff.goal.slice(0, PREVIEW_CHARACTERS) },
      { task_id: handoff.task, workflow_id: handoff.workflow }
    )
  }

  async workflowDone(plan: string, task: number): Promise<void> {
    await this.#lineage('workflow_handoff_completed', { id: plan, session: null }, {}, { task_id: task })
  }

  async #lineage(
    kind: LineageRow['kind'],
    plan: { readonly id: string; readonly session: string | null },
    payload: Readonly<Record<string, unknown>>,
    more: Partial<LineageRow> = {}
  ): Promise<void> {
    const campaign = this.#orchestrator.policy.campaign_id
    await this.#orchestrator.lineage({
      kind,
      plan_session_id: plan.id,
      ...(plan.session === null ? {} : { session_id: plan.session }),
      ...more,
      payload: { ...payload, ...(campaign === null ? {} : { campaign_id: campaign }) }
    })
  }
}
