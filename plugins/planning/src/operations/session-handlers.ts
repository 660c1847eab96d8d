import type { Orchestrator } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { planQgate } from '../assess/qgate.ts'
import { complexityOf } from '../assess/router.ts'
import { planDocument, writePlanFile } from '../draft/plan-document.ts'
import type { LoopMode } from '../draft/refinement.ts'
import { adequacyNote, assertAdequate, type Drafting } from '../drafting.ts'
import type { PlanExecution } from '../execution/plan-execution.ts'
import type { Planner } from '../planner.ts'
import { taskFromNode } from '../store/materialise.ts'
import type { NodeAttempt, PlanNode, PlanSession, PlanVersion } from '../store/plan-rows.ts'
import { noDatabase, type PlanStore } from '../store/plan-store.ts'
import { summaryOf } from './plan-handler.ts'
import type { planExecute, planList, planNew, planReplan, planResume, planStatus } from './plan-sessions.ts'

const RECENT_EVENTS = 20
const GOAL_PREVIEW = 200

export interface SessionParts {
  readonly store: PlanStore
  readonly planner: Planner
  readonly execution: PlanExecution
  readonly drafting: Drafting
  readonly orchestrator: Orchestrator
  readonly projectRoot: string
}

/** Returns the dependencies of the handlers; throws `ORC_NO_DATABASE` if no database is attached. */
export type Attached = () => SessionParts

export function attachedOr(parts: SessionParts | null): Attached {
  return () => {
    if (parts === null) throw noDatabase()
    return parts
  }
}

export function newHandler(attached: Attached): Handler<typeof planNew> {
  return async (input, call) => {
    const parts = attached()
    const { drafting, orchestrator, planner, projectRoot } = parts
    const refined = await drafting.draft({
      goal: input.goal,
      scopeFiles: input.scope_files,
      maxTasks: input.max_tasks,
      loopMode: loopMode(input.mode),
      signal: call.signal,
      onRound: (done, of) => call.progress(done, of, `refinement round ${done}`),
      ...(input.session_id === undefined ? {} : { session: input.session_id })
    })
    const { planning } = orchestrator.policy
    if (planning.adequacy_shadow || planning.adequacy_enforce)
      call.log.info('plan adequacy', { surface: 'ai.plan.new', ...adequacyNote(refined.report) })
    if (planning.adequacy_enforce) assertAdequate(refined.report)
    const summary = refined.summary ?? summaryOf(input.goal, refined.tasks.length)
    const { id } = await planner.store(input.goal, refined, {
      strategy: 'SequentialDag',
      session: input.session_id ?? null,
      trigger: 'ai.plan.new',
      metadata: {
        summary,
        scope_files: input.scope_files,
        max_tasks: input.max_tasks,
        ...(input.mode === undefined ? {} : { mode: input.mode })
      }
    })
    const plan_md = planDocument({
      goal: input.goal,
      summary,
      tasks: refined.tasks,
      questions: refined.report.suggested_clarifying_questions
    })
    if (input.write_to_disk) await writePlanFile(projectRoot, plan_md)
    return {
      session_id: id,
      goal: input.goal,
      summary,
      versions: await versionsOf(parts, id),
      plan_md,
      written_to_disk: input.write_to_disk,
      text: `${plan_md}\nStored as ${id}; svc plan execute ${id} starts it.`
    }
  }
}

export function replanHandler(attached: Attached): Handler<typeof planReplan> {
  return async (input, call) => {
    const parts = attached()
    const { store, planner, execution, projectRoot, orchestrator } = parts
    const { version, report } = await execution.exclusive(input.session_id, async () => {
      const session = await store.session(input.session_id)
      const added = await planner.replan(session, input.delta_hint, {
        signal: call.signal,
        onRound: (done, of) => call.progress(done, of, `refinement round ${done}`),
        ...(input.mode === undefined ? {} : { loopMode: loopMode(input.mode) })
      })
      await execution.advance(await store.session(session.id))
      return added
    })
    const session = await store.session(input.session_id)
    const tasks = (await store.nodes(session.id, version)).map((node, at) => taskFromNode(node, at + 1))
    const summary = summaryOf(session.goal, tasks.length)
    const plan_md = planDocument({
      goal: session.goal,
      summary,
      tasks,
      questions: report.suggested_clarifying_questions
    })
    if (input.write_to_disk) await writePlanFile(projectRoot, plan_md)
    return {
      session_id: session.id,
      goal: session.goal,
      summary,
      versions: await versionsOf(parts, session.id),
      replan_version: version,
      plan_md,
      written_to_disk: input.write_to_disk,
      qgate: planQgate(report, tasks, null, orchestrator.policy.qgate)
    }
  }
}

export function statusHandler(attached: Attached): Handler<typeof planStatus> {
  return async ({ session_id }) => {
    const { store, orchestrator, drafting } = attached()
    const session = await store.session(session_id)
    const nodes = await store.nodes(session.id, session.version)
    const attempts = await store.attempts(session.id)
    const count = (...statuses: PlanNode['status'][]) => nodes.filter(({ status }) => statuses.includes(status)).length
    const completed = count('completed')
    const failed = count('failed')
    const tasks = nodes.map((node, at) => taskFromNode(node, at + 1))
    const scope = session.metadata.scope_files?.length ?? 0
    const report = drafting.assess(session.goal, tasks, complexityOf(session.goal), scope)
    return {
      session_id: session.id,
      goal: session.goal,
      summary: `${session.status}: ${completed} of ${nodes.length} steps completed (version ${session.version})`,
      status: session.status,
      source: 'database',
      strategy: session.strategy,
      execution_mode: orchestrator.policy.planning.auto_mode_enabled ? 'auto' : 'approval',
      plan_version: session.version,
      latest_version: session.version,
      nodes: nodes.map(node =>
        nodeView(
          node,
          attempts.filter(({ version, node: id }) => version === node.version && id === node.id)
        )
      ),
      progress: { total: nodes.length, completed, failed },
      step_counts: {
        pending: count('pending', 'queued'),
        completed,
        failed,
        in_progress: count('in_progress'),
        skipped: count('cancelled', 'superseded')
      },
      recent_events: recentEvents(session, await store.versions(session.id), attempts),
      qgate: planQgate(report, tasks, null, orchestrator.policy.qgate)
    }
  }
}

export function executeHandler(attached: Attached): Handler<typeof planExecute> {
  return async ({ session_id, force_risky_reason }) => {
    const { execution, store } = attached()
    const submitted = await execution.execute(
      session_id,
      force_risky_reason === undefined ? {} : { reason: force_risky_reason }
    )
    return enqueued(
      await store.session(session_id),
      submitted.map(({ task_id }) => task_id)
    )
  }
}

export function resumeHandler(attached: Attached): Handler<typeof planResume> {
  return async ({ session_id }) => {
    const { execution, store } = attached()
    const tasks = await execution.resume(session_id)
    return enqueued(await store.session(session_id), tasks)
  }
}

export function listHandler(attached: Attached): Handler<typeof planList> {
  return async ({ status, limit, offset }) => {
    const sessions = await attached().store.sessions({ limit, offset, ...(status === undefined ? {} : { status }) })
    return {
      sessions: sessions.map(session => ({
        session_id: session.id,
        status: session.status,
        strategy: session.strategy,
        version: session.version,
        goal: session.goal.slice(0, GOAL_PREVIEW),
        origin_session_id: session.originSession,
        created_at: session.createdAt,
        updated_at: session.updatedAt
      }))
    }
  }
}

function enqueued(session: PlanSession, tasks: readonly number[]) {
  const listed = tasks.length === 0 ? 'no step is ready' : `tasks ${tasks.join(', ')}`
  return { task_ids: [...tasks], ok: true, summary: `${session.id} is ${session.status}: ${listed}` }
}

async function versionsOf({ store }: SessionParts, session: string) {
  const found = []
  for (const { version } of await store.versions(session)) {
    const nodes = await store.nodes(session, version)
    found.push({
      version,
      steps: nodes.map(({ id, description, status, policy }) => ({
        id,
        description,
        status,
        ...(policy.test_decision === undefined ? {} : { test_decision: policy.test_decision })
      }))
    })
  }
  return found
}

function nodeView(node: PlanNode, attempts: readonly NodeAttempt[]) {
  const last = attempts.at(-1)
  const ended = attempts.findLast(({ outcome }) => outcome !== null)
  return {
    node_id: node.id,
    status: node.status,
    description: node.description,
    depends_on: [...node.dependsOn],
    ...(node.workflow === null ? {} : { workflow: node.workflow }),
    ...(last === undefined || last.task === null ? {} : { task_id: last.task }),
    attempts_count: attempts.length,
    ...(ended?.outcome ? { last_outcome: ended.outcome } : {}),
    ...(ended?.error ? { last_error: ended.error } : {})
  }
}

function recentEvents(
  session: PlanSession,
  versions: readonly PlanVersion[],
  attempts: readonly NodeAttempt[]
): Record<string, unknown>[] {
  return [
    { type: 'plan_session_created', at: session.createdAt, strategy: session.strategy },
    ...versions.map(({ version, parent, triggerEvent, verdict, createdAt }) => ({
      type: 'plan_version_created',
      at: createdAt,
      version,
      ...(parent === null ? {} : { parent_version: parent }),
      trigger: triggerEvent,
      verdict
    })),
    ...attempts.map(({ version, node, number, task, outcome, error, createdAt }) => ({
      type: outcome === null ? 'step_enqueued' : `step_${outcome}`,
      at: createdAt,
      version,
      node_id: node,
      attempt: number,
      ...(task === null ? {} : { task_id: task }),
      ...(error === null ? {} : { error })
    }))
  ]
    .sort((a, b) => a.at.localeCompare(b.at))
    .slice(-RECENT_EVENTS)
}

function loopMode(mode: string | undefined): LoopMode {
  return mode === 'auto' || mode === 'force' ? mode : 'off'
}
