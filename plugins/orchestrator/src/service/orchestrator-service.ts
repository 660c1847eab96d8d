import { setImmediate as turnEnds } from 'node:timers/promises'
import {
  type Admission,
  type AgentActivity,
  type AgentEvent,
  type AgentEventKind,
  type AgentView,
  type Attention,
  type Attestation,
  type Budgets,
  type Completion,
  type Durability,
  type ExecutionTimes,
  type GoalOutcome,
  type GoalRequest,
  type Handoff,
  type HandoffOutcome,
  type LineageRow,
  type LockView,
  type Orchestrator,
  type OrchestratorPolicy,
  type OrchestratorStatus,
  orchestrationErrors,
  type PlacingTask,
  type Priority,
  type RemoteWork,
  type RetiredAgent,
  type SpawnRequest,
  type SubmitOrigin,
  type SubmitRequest,
  type Submitted,
  type TaskExplanation,
  type TaskFilter,
  type TaskPhase,
  type TaskSubmission,
  type TaskView,
  type Trust
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { EventBus } from '../events/bus.ts'
import { bindSession, drain, heartbeat, retire, setPaused, spawn } from '../state/agents.ts'
import type { StateChanges } from '../state/changes.ts'
import { doubt, resolveDoubt } from '../state/doubts.ts'
import { assertWorkable, cancel, complete, fail, next, release } from '../state/endings.ts'
import { explain } from '../state/explain.ts'
import { claimFile, transferFile } from '../state/files.ts'
import { handoff, rebalance } from '../state/moves.ts'
import { addObservation, addTurn, enterPhase } from '../state/notes.ts'
import type { GatePort, Move } from '../state/ports.ts'
import { replayRoutes, runnableTasks } from '../state/replay.ts'
import { retry } from '../state/retry.ts'
import { submit } from '../state/submit.ts'
import { type Task, taskView } from '../state/task.ts'
import { tick } from '../state/tick.ts'
import { agentView, agentViews, statusView, taskViews } from '../state/views.ts'
import { approve, reorder } from '../state/waiting.ts'
import type { World } from '../state/world.ts'
import type { CommandRunner } from './command-runner.ts'
import type { Placing } from './placing.ts'
import type { ReadySignals } from './ready-signals.ts'
import type { TaskSignals } from './task-signals.ts'

export interface ServiceDependencies {
  readonly repositoryId: string
  readonly durability: Durability
  readonly world: World
  readonly runner: CommandRunner
  readonly gates: GatePort
  readonly bus: EventBus
  readonly readySignals: ReadySignals
  readonly signals: TaskSignals
  readonly attention: Attention
  readonly budgets: Budgets
  readonly trust: Trust
  readonly executionTimes: ExecutionTimes
  readonly placing: Placing
  /** Creates the service for remote work, with the service it belongs to. */
  readonly remote: (service: OrchestratorService) => RemoteWork
  readonly policy: () => OrchestratorPolicy
  /** Resolves symbolic links. Throws `ORC_SCOPE_DENIED` for a path that leaves the repository. */
  readonly confine: (path: string) => string
  /** Checks attention, interruption policy and description; see `policy/admission.ts`. */
  readonly admit: (request: SubmitRequest, surface: string) => Admission
  /** Triggers the hook `taskSubmitting`. */
  readonly submitting: (submission: TaskSubmission) => Promise<void>
  /** Triggers the hook `goalSubmitting`. */
  readonly goal: (request: GoalRequest) => Promise<GoalOutcome | undefined>
  /** Sets the operating mode in a session's envelope; null removes it. */
  readonly setMode: (session: string, mode: object | null) => Promise<void>
  /** Charges the user's review of a task to the attention budget. */
  readonly interrupted: (weight: number, changes: StateChanges) => void
  readonly outbox: () => OrchestratorStatus['outbox']
  readonly scalingProfile: () => OrchestratorStatus['scaling_profile']
  /** Called when a task has been routed to an agent. */
  readonly placed: (task: Task) => void
  /** Called when queued tasks have been routed again and moved. */
  readonly rerouted: (moves: readonly Move[]) => void
  readonly report: (operation: string, error: unknown) => void
}

/** Tasks that one command routes again. */
const REPLAY_SLICE = 250

/** Implementation of the service: runs commands of the state, and resolves each once its changes are durable. */
export class OrchestratorService implements Orchestrator {
  readonly repositoryId: string
  readonly durability: Durability
  readonly attention: Attention
  readonly budgets: Budgets
  readonly trust: Trust
  readonly executionTimes: ExecutionTimes
  readonly remote: RemoteWork
  readonly #deps: ServiceDependencies
  readonly #world: World
  readonly #runner: CommandRunner

  constructor(deps: ServiceDependencies) {
    this.#deps = deps
    this.#world = deps.world
    this.#runner = deps.runner
    this.repositoryId = deps.repositoryId
    this.durability = deps.durability
    this.attention = deps.attention
    this.budgets = deps.budgets
    this.trust = deps.trust
    this.executionTimes = deps.executionTimes
    this.remote = deps.remote(this)
  }

  get policy(): OrchestratorPolicy {
    return this.#deps.policy()
  }

  async admit(request: SubmitRequest, { surface, principal }: SubmitOrigin): Promise<Admission> {
    const admission = this.#deps.admit(request, surface)
    await this.#deps.submitting({ surface, principal, request: admission.request })
    return admission
  }

  async submit(request: SubmitRequest, origin?: SubmitOrigin): Promise<Submitted> {
    if (origin === undefined) return this.#submit(request, null)
    const admission = origin.admission ?? (await this.admit(request, origin))
    return (await this.#planned(origin, admission)) ?? this.#submit(admission.request, admission)
  }

  /** Plans a goal; undefined if no plugin handles it. Throws `ORC_CONFIG_INVALID` if its mode requires a plan. */
  async #planned({ surface, goal }: SubmitOrigin, admission: Admission): Promise<Submitted | undefined> {
    if (goal === undefined) return undefined
    const outcome = await this.#deps.goal({ surface, request: admission.request, ...goal })
    if (outcome !== undefined) return plannedGoal(outcome, admission)
    if (goal.mode !== 'force_plan' && goal.mode !== 'workflow_only') return undefined
    throw orchestrationErrors.create('ORC_CONFIG_INVALID', `planning_mode ${goal.mode}: no plugin plans goals`, {
      hint: 'enable the plugin planning and planning_enabled in [orchestrator], or omit planning_mode'
    })
  }

  #submit(request: SubmitRequest, admission: Admission | null): Promise<Submitted> {
    const files = request.files.map(({ path, access }) => ({ path: this.#deps.confine(path), access }))
    const { placing } = this.#deps
    if (placing.isPossible) return this.#submitAndPlace({ ...request, files }, admission)
    return this.#runner.runWithIds((world, changes) => {
      const submitted = submit(world, changes, { ...request, files }, admission)
      this.#deps.placed(world.task(submitted.task_id))
      return submitted
    })
  }

  /** Submits a task. If a placer wants it, also places it on another machine, or queues it locally if that fails. */
  async #submitAndPlace(request: SubmitRequest, admission: Admission | null): Promise<Submitted> {
    const { placing } = this.#deps
    let held: PlacingTask | undefined
    const submitted = await this.#runner.runWithIds((world, changes) => {
      const submitted = submit(world, changes, request, admission, placing)
      const task = world.task(submitted.task_id)
      if (world.holds.has(task.id)) held = taskView(task) as PlacingTask
      else this.#deps.placed(task)
      return submitted
    })
    if (held === undefined) return submitted
    await placing.place(held)
    const status = await this.#runner.runWithoutLimit(world => world.tasks.get(submitted.task_id)?.status.kind)
    return { ...submitted, status: status ?? submitted.status }
  }

  async complete(id: number, named?: Attestation): Promise<Completion> {
    const attestation = this.withRealPaths(named)
    const task = assertWorkable(this.#world, id, 'completed')
    // Evidence is gathered before the command runs, since commands are synchronous.
    const gathering = this.#deps.gates.gather(taskView(task), attestation)
    const evidence = gathering === null ? null : await gathering
    return this.#runner.run((world, changes) => complete(world, changes, id, attestation, evidence))
  }

  fail(task: number, reason: string): Promise<void> {
    return this.#runner.run((world, changes) => fail(world, changes, task, reason))
  }

  cancel(task: number): Promise<void> {
    return this.#runner.run((world, changes) => cancel(world, changes, task))
  }

  release(task: number, reason: string): Promise<void> {
    return this.#runner.run((world, changes) => release(world, changes, task, reason))
  }

  retry(task: number): Promise<void> {
    return this.#runner.runWithIds((world, changes) => retry(world, changes, task))
  }

  async doubt(task: number, reason: string | null): Promise<void> {
    await this.#runner.run((world, changes) => doubt(world, changes, task, reason))
    await this.#setMode(task, { verification: { reason } })
  }

  async resolveDoubt(task: number, outcome: 'validated' | 'overruled', report: string): Promise<void> {
    await this.#runner.run((world, changes) => resolveDoubt(world, changes, task, outcome, report))
    await this.#setMode(task, null)
  }

  approve(task: number, by: string): Promise<void> {
    return this.#runner.run((world, changes) => {
      approve(world, changes, task, by)
      this.#deps.interrupted(world.task(task).attentionWeight, changes)
    })
  }

  reorder(task: number, priority: Priority): Promise<void> {
    return this.#runner.run((world, changes) => reorder(world, changes, task, priority))
  }

  task(id: number): TaskView | null {
    const task = this.#world.tasks.get(id)
    return task === undefined ? null : taskView(task)
  }

  tasks(filter: TaskFilter = {}): readonly TaskView[] {
    return taskViews(this.#world, filter)
  }

  explain(task: number): TaskExplanation | null {
    return explain(this.#world, task)
  }

  spawnAgent(request: SpawnRequest): Promise<AgentView> {
    return this.#runner.runWithIds((world, changes) => agentView(world, spawn(world, changes, request)))
  }

  async retireAgent(agent: number): Promise<RetiredAgent> {
    const tasks = await this.#runner.run((world, changes) => retire(world, changes, agent))
    this.#deps.readySignals.forget(agent)
    return { remaining_tasks: tasks.length, tasks }
  }

  pauseAgent(agent: number): Promise<void> {
    return this.#runner.run((world, changes) => setPaused(world, changes, agent, true))
  }

  resumeAgent(agent: number): Promise<void> {
    return this.#runner.run((world, changes) => setPaused(world, changes, agent, false))
  }

  drainAgent(agent: number): Promise<number> {
    return this.#runner.run((world, changes) => drain(world, changes, agent))
  }

  heartbeat(agent: number, activity: AgentActivity): void {
    this.#runner.note('a heartbeat', (world, changes) => heartbeat(world, changes, agent, activity))
  }

  bindSession(agent: number, session: string): Promise<void> {
    return this.#runner.run((world, changes) => bindSession(world, changes, agent, session))
  }

  agents(): readonly AgentView[] {
    return agentViews(this.#world)
  }

  agent(id: number): AgentView | null {
    const agent = this.#world.agents.get(id)
    return agent === undefined ? null : agentView(this.#world, agent)
  }

  async handoff(payload: Handoff): Promise<HandoffOutcome> {
    const { owned_files } = payload
    const resolved = defined({ ...payload, owned_files: owned_files?.map(path => this.#deps.confine(path)) })
    return this.#runner.runWithIds((world, changes) => handoff(world, changes, resolved))
  }

  rebalance(): Promise<number> {
    return this.#runner.run((world, changes) => rebalance(world, changes))
  }

  async replayQueuedRoutes(): Promise<number> {
    const queued = await this.#runner.run(world => runnableTasks(world))
    let moved = 0
    // In slices, so that many tasks do not block the event loop.
    for (let at = 0; at < queued.length; at += REPLAY_SLICE) {
      const slice = queued.slice(at, at + REPLAY_SLICE)
      const moves = await this.#runner.run((world, changes) => replayRoutes(world, changes, slice))
      this.#deps.rerouted(moves)
      moved += moves.length
      await turnEnds()
    }
    return moved
  }

  emergencyStop(reason: string | null): Promise<void> {
    return this.#runner.run((world, changes) => {
      world.stopped = { reason }
      changes.touch('meta', 'stopped')
      changes.event({ type: 'emergency_stop', ...(reason === null ? null : { reason }) })
    })
  }

  start(): Promise<void> {
    return this.#runner.run((world, changes) => {
      if (world.stopped === null) return
      world.stopped = null
      changes.touch('meta', 'stopped')
      for (const agent of world.agents.keys()) this.#deps.readySignals.runnable(agent)
    })
  }

  async claimFile(agent: number, path: string): Promise<void> {
    const file = this.#deps.confine(path)
    return this.#runner.run((world, changes) => claimFile(world, changes, agent, file))
  }

  async transferFile(from: number, to: number, path: string): Promise<void> {
    const file = this.#deps.confine(path)
    return this.#runner.run((world, changes) => transferFile(world, changes, from, to, file))
  }

  repositoryPath(path: string): string {
    return this.#deps.confine(path)
  }

  fileOwner(path: string): number | null {
    return this.#world.files.owner(this.#resolved(path))
  }

  filesOf(agent: number): readonly string[] {
    return this.#world.files.filesOf(agent)
  }

  locks(path?: string): readonly LockView[] {
    const locks = this.#world.locks.views()
    if (path === undefined) return locks
    const file = this.#resolved(path)
    return locks.filter(lock => lock.path === file)
  }

  /** Resolves symbolic links like {@link ServiceDependencies.confine}; returns an invalid path unchanged. */
  #resolved(path: string): string {
    try {
      return this.#deps.confine(path)
    } catch {
      return path
    }
  }

  /** Adds the real paths of artifacts that are named through symbolic links. */
  withRealPaths<A extends Attestation | undefined>(attestation: A): A {
    const named = attestation?.artifact_paths ?? []
    const real = named.map(path => this.#resolved(path))
    if (real.every((path, at) => path === named[at])) return attestation
    return { ...attestation, artifact_paths: [...new Set([...named, ...real])] }
  }

  next(agent: number): Promise<TaskView | null> {
    this.#deps.readySignals.looked(agent)
    return this.#runner.runAhead((world, changes) => {
      const task = next(world, changes, agent)
      return task === null ? null : taskView(task)
    })
  }

  wake(agent: number, signal: AbortSignal): Promise<void> {
    return this.#deps.readySignals.wait(agent, signal)
  }

  taskSignal(task: number): AbortSignal {
    return this.#deps.signals.of(task, this.#world.tasks.get(task)?.status.kind === 'InProgress')
  }

  phase(task: number, phase: TaskPhase): void {
    this.#runner.note('a phase', (world, changes) => enterPhase(world, changes, task, phase))
  }

  turn(task: number, message: string): void {
    this.#runner.note('a transcript turn', (world, changes) => addTurn(world, changes, task, message))
  }

  observe(task: number, note: string): void {
    this.#runner.note('an observation', (world, changes) => addObservation(world, changes, task, note))
  }

  status(): OrchestratorStatus {
    return statusView(this.#world, {
      durability: this.durability,
      outbox: this.#deps.outbox(),
      scaling_profile: this.#deps.scalingProfile()
    })
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    return this.#deps.bus.subscribe(listener)
  }

  subscribeRecords(listener: (records: ReadonlySet<string> | null) => void): () => void {
    return this.#deps.bus.subscribeRecords(listener)
  }

  recentEvents(limit?: number): readonly AgentEvent[] {
    return this.#deps.bus.recent(limit)
  }

  emit(kind: AgentEventKind): void {
    this.#runner.note('an event', (_world, changes) => changes.event(kind))
  }

  lineage(row: LineageRow): Promise<void> {
    return this.#runner.run((_world, changes) => {
      changes.lineage.push(row)
    })
  }

  /** Runs the periodic work of each second. Resolves when its changes are durable; does not throw. */
  async tick(): Promise<void> {
    try {
      await this.#runner.runWithIds((world, changes) => tick(world, changes, this.#deps.report))
    } catch (error) {
      this.#deps.report('periodic work', error)
    }
  }

  /** Sets the operating mode in the session of a task. A failure is only reported, and does not undo the command. */
  async #setMode(task: number, mode: object | null): Promise<void> {
    const session = this.#world.tasks.get(task)?.extra?.session_id
    if (session === undefined) return
    try {
      await this.#deps.setMode(session, mode)
    } catch (error) {
      this.#deps.report(`the envelope of session ${session}`, error)
    }
  }
}

function plannedGoal({ submitted, ...plan }: GoalOutcome, admission: Admission): Submitted {
  return {
    ...submitted,
    warnings: [...new Set([...admission.warnings, ...submitted.warnings])],
    admission,
    plan: {
      strategy: plan.strategy,
      ...(plan.plan_session_id === undefined ? null : { session_id: plan.plan_session_id }),
      ...(plan.shadow_plan_adequacy === undefined ? null : { shadow_adequacy: plan.shadow_plan_adequacy })
    }
  }
}
