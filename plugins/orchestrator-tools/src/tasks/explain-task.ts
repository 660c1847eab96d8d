import {
  agentLabel,
  type Orchestrator,
  orchestrationErrors,
  type PlacementExplanation,
  type RepositoryTask,
  type TaskExplanation,
  taskLabel
} from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { TOPICS } from '../feeds/state-feeds.ts'
import { taskReference } from '../fields.ts'
import { tool } from '../tool.ts'
import { foundAnywhere, holderFields, holderOf } from './holder.ts'

const explainTask = defineOperation({
  id: 'orchestrator.explainTask',
  summary: 'Explain the routing and the gates of a task',
  input: t.object({ task_id: taskReference }),
  output: t.object({
    task_id: t.integer(),
    routing: t.record(t.unknown()),
    placement: t.object({
      surface: t.enum(['local', 'remote']),
      reason: t.string(),
      because: t.string(),
      delegate: t.optional(t.record(t.unknown()))
    }),
    test_decision: t.object({ decision: t.string(), rationale: t.string() }),
    gates: t.array(t.record(t.unknown())),
    trace: t.array(t.record(t.unknown())),
    ...holderFields,
    text: t.string({ description: 'The explanation as readable text.' })
  }),
  errors: orchestrationErrors.specs,
  effect: 'read',
  watch: { on: [TOPICS.tasks], minMs: 1_000 },
  expose: {
    mcp: tool('explain_task', {
      toolsets: ['tasks'],
      use: 'Why this agent got the task, and what each gate said. The state: svc_task_status.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/tasks/:task_id/explanation' },
    rpc: true,
    cli: { command: 'orch explain', args: ['task_id'], view: { text: 'text' } }
  }
})

function explainTaskHandler({ tasks, local }: Dependencies): Handler<typeof explainTask> {
  return async ({ task_id }, { signal }) => {
    const task = await foundAnywhere({ tasks }, task_id, signal)
    const explanation = await tasks.current.explain(task, signal)
    if (explanation === null)
      throw orchestrationErrors.create(
        'ORC_TASK_NOT_FOUND',
        `task ${taskLabel(task.id)} not found: its routing reasons are no longer stored`
      )
    const { routing, placement, test_decision, gates, trace } = explanation
    return {
      task_id: task.id,
      routing: { ...routing },
      placement: placementOf(placement),
      test_decision,
      gates: gates.map(gate => ({ ...gate })),
      trace: trace.map(step => ({ ...step })),
      ...holderOf(task.process),
      text: explanationText(task, explanation, local)
    }
  }
}

const RULES: Readonly<Record<TaskExplanation['routing']['rule'], string>> = {
  target_agent: 'requested by name',
  least_loaded: 'the least loaded agent, since the task names no files',
  highest_score: 'the highest score',
  exploration: 'chosen at random, to learn its reliability',
  spawn_for_group: 'created for the group of the files',
  fallback_single: 'the least loaded agent, since no agent had a score',
  spawn_general: 'created, since no agent had a score',
  spawn_default: 'created, since there was no agent',
  handoff: 'another agent handed the task over',
  rebalance: 'moved to balance the load'
}

function explanationText(task: RepositoryTask, explanation: TaskExplanation, orchestrator: Orchestrator): string {
  const { routing, placement, gates, trace, test_decision } = explanation
  const { holder, process } = holderOf(task.process)
  const agent = process.own ? orchestrator.agent(routing.agent_id) : null
  const lines = [
    `${taskLabel(task.id)}  ${task.status.kind}  ${task.priority}  ${routing.placement_reason}`,
    '',
    `Agent ${agent?.name ?? agentLabel(routing.agent_id)}: ${RULES[routing.rule]}.`
  ]
  for (const { agent_name, agent_id, score, terms } of routing.candidates) {
    lines.push('', `  ${agent_name} (${agent_id})  ${signed(score)}`)
    for (const { term, value, because } of terms) lines.push(`    ${signed(value).padStart(10)}  ${term}: ${because}`)
  }
  lines.push('', `Runs: ${placement.surface === 'local' ? 'locally' : 'on another machine'}. ${placement.because}`)
  if (process.own && placement.surface === 'local') lines.push(...notGated(task, orchestrator))
  lines.push('', `Tests: ${test_decision.decision}. ${test_decision.rationale}`)
  lines.push('', gates.length === 0 ? 'Gates: no attempt to complete the task yet.' : 'Gates, at the last attempt:')
  for (const { gate, verdict, detail } of gates) lines.push(`  ${gate.padEnd(11)} ${verdict.padEnd(13)} ${detail}`)
  if (!process.own) return [...lines, '', `Process ${holder} holds the task, and has its history.`].join('\n')
  lines.push('', 'History:')
  for (const { stage, timestamp_ms, detail } of trace)
    lines.push(`  ${new Date(timestamp_ms).toISOString()}  ${stage}  ${detail}`.trimEnd())
  return lines.join('\n')
}

/** Names the role because of which a task stays on this machine, although tasks of other roles may leave it. */
function notGated({ role }: RepositoryTask, { policy }: Orchestrator): readonly string[] {
  const { remote_execute_experimental, remote_lease_gating_enabled, remote_lease_gated_roles } = policy.mesh
  if (!remote_execute_experimental || !remote_lease_gating_enabled || remote_lease_gated_roles.includes(role)) return []
  return [`Its role is ${role}, which mesh_remote_lease_gated_roles in [orchestrator] does not list.`]
}

function placementOf({ surface, reason, because, delegate }: PlacementExplanation) {
  return { surface, reason, because, ...(delegate === undefined ? null : { delegate: { ...delegate } }) }
}

function signed(value: number): string {
  const rounded = Math.round(value * 1_000) / 1_000
  return rounded > 0 ? `+${rounded}` : String(rounded)
}

export const explanations = [bound(explainTask, explainTaskHandler)]
