import type { SpanAttributes } from '@svc/contracts'
import {
  type Admission,
  agentLabel,
  type FileAffinity,
  orchestrationErrors,
  type SubmitRequest,
  type Submitted
} from '@svc/contracts'
import { inStep } from '../steps.ts'
import type { Agent } from './agent.ts'
import { assertAgentsLeft, type NewAgent, spawnAs } from './agents.ts'
import type { StateChanges } from './changes.ts'
import { assertUnlocked, checkScope, lockToWork, manifest, takeFiles } from './files.ts'
import { newDelegate } from './holds.ts'
import { PRIORITY_OF } from './limits.ts'
import type { Judgement, PlacementPort, RouteDecision, RoutingRule } from './ports.ts'
import { BLOCKED_ON_APPROVAL, IN_PROGRESS, QUEUED } from './status.ts'
import { DEFAULT_TASK, extraFields, type Task, taskView } from './task.ts'
import { inlineHints } from './task-hints.ts'
import { assertDescription, complexityOf, extraOf, openDependencies, ROLES, toRoute } from './task-request.ts'
import type { World } from './world.ts'

/** Bytes of a description that count as one token in the estimate for the budget. */
const BYTES_PER_TOKEN = 4
/** Tokens that each file adds to the estimate. */
const TOKENS_PER_FILE = 200
const NOTHING: readonly string[] = Object.freeze([])

/** Throws `ORC_DISABLED` or `ORC_STOPPED` if the orchestrator accepts no work. */
function assertOpen(world: World): void {
  if (!world.deps.settings().enabled)
    throw orchestrationErrors.create('ORC_DISABLED', 'Orchestrator is disabled: [orchestrator] enabled is false', {
      hint: 'set it to true, or set SVC_ORCHESTRATOR_ENABLED=true'
    })
  if (world.stopped === null) return
  const suffix = world.stopped.reason === null ? '' : ` (${world.stopped.reason})`
  throw orchestrationErrors.create('ORC_STOPPED', `Orchestrator is stopped: the emergency stop is active${suffix}`, {
    hint: 'svc orch start ends the emergency stop'
  })
}

/**
 * Creates a task: routes it to an agent, judges it, locks its files and queues it. If this throws, nothing has changed.
 *
 * 1. Checks that the orchestrator accepts work, and that the request is valid.
 * 2. Screens the description, unless the request was already admitted, and reads its markers.
 * 3. Chooses the agent.
 * 4. Checks approval tier, budget, evidence, locks and scope.
 * 5. Creates the agent, if it is new, and the task.
 *
 * With `placement`, a task that could run is held for a placer that wants it: it is in progress, and not confirmed yet.
 */
export function submit(
  world: World,
  changes: StateChanges,
  request: SubmitRequest,
  admission: Admission | null = null,
  placement: PlacementPort | null = null
): Submitted {
  assertOpen(world)
  assertRoom(world)
  assertDescription(request.description)
  const { deps } = world
  const settings = deps.settings()
  const { hints } = request
  const { description, warnings } =
    admission === null
      ? deps.judge.screen(request.description)
      : { description: request.description, warnings: admission.warnings }
  const files = manifest(request.files)
  const open = openDependencies(world, request.depends_on)
  const inline = inlineHints(description)
  const category = hints?.task_category ?? inline?.category ?? 'General'
  const complexity = complexityOf(hints?.complexity)
  const priority = request.priority ?? PRIORITY_OF[settings.default_priority]
  const extra = extraOf(request, description, inline, settings.account_id)

  const target = targetOf(world, request, description, files)
  const { agent_id } = target
  const approvals = request.approvals ?? NOTHING
  const toJudge = { description, files, priority, complexity, category, approvals, qgate: hints?.qgate }
  const judgement = deps.judge.judge(toJudge, agent_id)
  const isParked = hints?.requires_approval === true
  assertAllowed(judgement, settings.tier_enforcement, isParked)
  const estimate = Math.ceil(Buffer.byteLength(description) / BYTES_PER_TOKEN) + TOKENS_PER_FILE * files.length
  const signal = deps.budgets.admit(agent_id, extra?.tenant_id, estimate)
  if (hints?.qgate !== undefined) deps.judge.admitEvidence(toJudge)
  assertUnlocked(world, files, agent_id)
  checkScope(world, changes, files, agent_id)

  const agent = target.agent ?? spawnAs(world, changes, target.make as NewAgent)
  if (target.group !== null && !world.groupAgents.has(target.group)) {
    world.groupAgents.set(target.group, agent_id)
    changes.touch('group_agent', target.group)
  }
  const [blocker] = open
  const dependsOn = request.depends_on ?? DEFAULT_TASK.dependsOn
  const task: Task = {
    ...DEFAULT_TASK,
    id: deps.ids.task(),
    description,
    status: isParked ? BLOCKED_ON_APPROVAL : blocker === undefined ? QUEUED : { kind: 'Blocked', on: blocker },
    priority,
    agent: agent_id,
    files,
    complexity,
    category,
    role: hints?.execution_role ?? ROLES[category],
    createdAt: world.stampCreation(),
    traceId: hints?.trace_id ?? deps.traceId(),
    rule: target.rule,
    tier: judgement.tier,
    attentionWeight: judgement.attentionWeight,
    test: judgement.test,
    dependsOn: dependsOn.length === 0 ? dependsOn : [...new Set(dependsOn)],
    waiting: open.length,
    extra
  }
  if (placement !== null && task.status === QUEUED) holdIfWanted(task, agent, placement)
  for (const on of open) world.taskDependencies.add(task.id, on)
  if (signal === 'HighLoad') changes.event({ type: 'budget_alert', agent_id, signal })
  takeFiles(world, changes, task, agent_id)
  // Files that are only read are locked as well, as for a task that starts here.
  if (task.status === IN_PROGRESS) lockToWork(world, changes, task, agent)
  world.add(changes, task)
  agent.continuations = 0
  announce(world, changes, task, judgement)
  const admitted = admission === null ? undefined : { admission }
  return { task_id: task.id, agent_id, status: task.status.kind, warnings, ...admitted }
}

/** Holds a new task for a placer, or records why not. Only a free agent can answer for a task on another machine. */
function holdIfWanted(task: Task, agent: Agent, placement: PlacementPort): void {
  // A task of another machine would only come back.
  if (task.extra?.remote_origin !== undefined) return
  const placer = placement.placerFor(taskView(task))
  if (placer === null) return
  const extra = extraFields(task)
  const vram = extra.capabilities?.min_vram_mb ?? 0
  const { maxVramMb } = placement
  if (agent.paused || agent.working.size > 0) {
    extra.placement_detail = `${agentLabel(agent.id)} ${agent.paused ? 'was paused' : 'was busy'}`
    return
  }
  if (vram > 0 && maxVramMb !== null && maxVramMb < vram) {
    task.placement = 'local_queue_fallback_insufficient_vram'
    extra.placement_detail = `it requires ${vram} MiB of GPU memory; the available nodes have up to ${maxVramMb} MiB`
    return
  }
  task.status = IN_PROGRESS
  task.startedAt = task.createdAt
  extra.remote = newDelegate(task.id, placer, task.createdAt)
}

function assertRoom(world: World): void {
  const { Queued, Blocked, BlockedOnApproval } = world.counts
  const waiting = Queued + Blocked + BlockedOnApproval
  const { queue_limit } = world.deps.settings()
  if (waiting < queue_limit) return
  throw orchestrationErrors.create('ORC_QUEUE_FULL', `Queue full: ${waiting} tasks wait; the limit is ${queue_limit}`, {
    hint: 'wait until some have ended, or raise [orchestrator] queue_limit'
  })
}

function describeRoute(decision: RouteDecision): SpanAttributes {
  const chosen = decision.kind === 'agent' ? { 'svc.agent': decision.agent } : { 'svc.spawned': decision.name }
  return { 'svc.rule': decision.rule, ...chosen }
}

interface Target {
  readonly agent_id: number
  /** Existing agent; null if it must be created. */
  readonly agent: Agent | null
  readonly make: NewAgent | null
  readonly rule: RoutingRule
  readonly group: string | null
}

/** Routes a request. Throws `ORC_MAX_AGENTS` if a new agent would exceed the limit. */
function targetOf(world: World, request: SubmitRequest, description: string, files: readonly FileAffinity[]): Target {
  const wanted = toRoute(request, request.hints, description, files)
  const decision = inStep(world.deps.step, 'routing', () => world.router.route(wanted), describeRoute)
  const { rule, group } = decision
  if (decision.kind === 'agent')
    return { agent_id: decision.agent, agent: world.agent(decision.agent), make: null, rule, group }
  assertAgentsLeft(world)
  const id = world.deps.ids.agent()
  const { name, dynamic, reason } = decision
  return { agent_id: id, agent: null, make: { id, name, dynamic, reason }, rule, group }
}

/** Throws `ORC_APPROVAL_BLOCKED` for the tier Blocked, unless the task is parked until its approval anyway. */
function assertAllowed({ tier, because }: Judgement, isEnforced: boolean, isParked: boolean): void {
  if (tier !== 'Blocked' || !isEnforced || isParked) return
  throw orchestrationErrors.create('ORC_APPROVAL_BLOCKED', `Approval blocked: ${because}`, {
    hint: 'after a human has approved the task, add [human-approved] to its description; or set requires_approval'
  })
}

function announce(world: World, changes: StateChanges, task: Task, { because }: Judgement): void {
  const session_id = task.extra?.session_id
  // While the task is being placed, the reason is not known yet.
  const placement = task.status === IN_PROGRESS ? undefined : { placement_reason: task.placement }
  changes.event({
    type: 'task_submitted',
    task_id: task.id,
    agent_id: task.agent,
    description: task.description,
    ...placement,
    ...(session_id === undefined ? undefined : { session_id })
  })
  changes.lineage.push({
    kind: 'task_submitted',
    task_id: task.id,
    agent_id: task.agent,
    ...(session_id === undefined ? undefined : { session_id }),
    payload: { ...placement, priority: task.priority }
  })
  world.traces.note(task.id, 'ingress', because, task.createdAt)
  world.traces.note(task.id, 'routed', `${agentLabel(task.agent)} by ${task.rule}`, task.createdAt)
}
