import type {
  AgentActivity,
  AgentView,
  Handoff,
  HandoffOutcome,
  LockView,
  RetiredAgent,
  SpawnedAgent,
  SpawnRequest
} from './agent.ts'
import type { AgentEvent, AgentEventKind } from './events.ts'
import type { LineageRow, Orchestrator, OrchestratorStatus, TaskFilter } from './orchestrator.ts'
import type { RemoteWork } from './remote.ts'
import type { Admission, Completion, SubmitOrigin, SubmitRequest, Submitted, TaskExplanation } from './submit.ts'
import type { Attestation, Priority, TaskPhase } from './task.ts'
import type { TaskView } from './task-fields.ts'

/**
 * Passes every call to the current orchestrator. The plugin provides the same instance across its reloads. A decorator
 * extends the class and overrides methods.
 */
export class DelegatingOrchestrator implements Orchestrator {
  protected readonly current: () => Orchestrator
  readonly remote: RemoteWork

  constructor(current: () => Orchestrator) {
    this.current = current
    this.remote = {
      setNodes: (source, nodes) => this.current().remote.setNodes(source, nodes),
      nodes: () => this.current().remote.nodes(),
      held: () => this.current().remote.held(),
      complete: (...args) => this.current().remote.complete(...args),
      fail: (...args) => this.current().remote.fail(...args),
      accept: (task, key, node) => this.current().remote.accept(task, key, node),
      fallBack: (task, key, reason) => this.current().remote.fallBack(task, key, reason),
      withdrawn: listener => this.current().remote.withdrawn(listener)
    }
  }

  get repositoryId() {
    return this.current().repositoryId
  }

  get durability() {
    return this.current().durability
  }

  get policy() {
    return this.current().policy
  }

  get attention() {
    return this.current().attention
  }

  get budgets() {
    return this.current().budgets
  }

  get trust() {
    return this.current().trust
  }

  get executionTimes() {
    return this.current().executionTimes
  }

  admit(request: SubmitRequest, origin: SubmitOrigin): Promise<Admission> {
    return this.current().admit(request, origin)
  }

  submit(request: SubmitRequest, origin?: SubmitOrigin): Promise<Submitted> {
    return this.current().submit(request, origin)
  }

  complete(task: number, attestation?: Attestation): Promise<Completion> {
    return this.current().complete(task, attestation)
  }

  fail(task: number, reason: string): Promise<void> {
    return this.current().fail(task, reason)
  }

  cancel(task: number): Promise<void> {
    return this.current().cancel(task)
  }

  release(task: number, reason: string): Promise<void> {
    return this.current().release(task, reason)
  }

  retry(task: number): Promise<void> {
    return this.current().retry(task)
  }

  doubt(task: number, reason: string | null): Promise<void> {
    return this.current().doubt(task, reason)
  }

  resolveDoubt(task: number, outcome: 'validated' | 'overruled', report: string): Promise<void> {
    return this.current().resolveDoubt(task, outcome, report)
  }

  approve(task: number, by: string): Promise<void> {
    return this.current().approve(task, by)
  }

  reorder(task: number, priority: Priority): Promise<void> {
    return this.current().reorder(task, priority)
  }

  task(task: number): TaskView | null {
    return this.current().task(task)
  }

  tasks(filter?: TaskFilter): readonly TaskView[] {
    return this.current().tasks(filter)
  }

  explain(task: number): TaskExplanation | null {
    return this.current().explain(task)
  }

  spawnAgent(request: SpawnRequest): Promise<SpawnedAgent> {
    return this.current().spawnAgent(request)
  }

  retireAgent(agent: number): Promise<RetiredAgent> {
    return this.current().retireAgent(agent)
  }

  pauseAgent(agent: number): Promise<void> {
    return this.current().pauseAgent(agent)
  }

  resumeAgent(agent: number): Promise<void> {
    return this.current().resumeAgent(agent)
  }

  drainAgent(agent: number): Promise<number> {
    return this.current().drainAgent(agent)
  }

  heartbeat(agent: number, activity: AgentActivity): void {
    this.current().heartbeat(agent, activity)
  }

  bindSession(agent: number, session: string): Promise<void> {
    return this.current().bindSession(agent, session)
  }

  agents(): readonly AgentView[] {
    return this.current().agents()
  }

  agent(agent: number): AgentView | null {
    return this.current().agent(agent)
  }

  handoff(handoff: Handoff): Promise<HandoffOutcome> {
    return this.current().handoff(handoff)
  }

  rebalance(): Promise<number> {
    return this.current().rebalance()
  }

  replayQueuedRoutes(): Promise<number> {
    return this.current().replayQueuedRoutes()
  }

  emergencyStop(reason: string | null): Promise<void> {
    return this.current().emergencyStop(reason)
  }

  start(): Promise<void> {
    return this.current().start()
  }

  claimFile(agent: number, path: string): Promise<void> {
    return this.current().claimFile(agent, path)
  }

  transferFile(from: number, to: number, path: string): Promise<void> {
    return this.current().transferFile(from, to, path)
  }

  repositoryPath(path: string): string {
    return this.current().repositoryPath(path)
  }

  fileOwner(path: string): number | null {
    return this.current().fileOwner(path)
  }

  filesOf(agent: number): readonly string[] {
    return this.current().filesOf(agent)
  }

  locks(path?: string): readonly LockView[] {
    return this.current().locks(path)
  }

  next(agent: number): Promise<TaskView | null> {
    return this.current().next(agent)
  }

  wake(agent: number, signal: AbortSignal): Promise<void> {
    return this.current().wake(agent, signal)
  }

  taskSignal(task: number): AbortSignal {
    return this.current().taskSignal(task)
  }

  phase(task: number, phase: TaskPhase): void {
    this.current().phase(task, phase)
  }

  turn(task: number, message: string): void {
    this.current().turn(task, message)
  }

  observe(task: number, note: string): void {
    this.current().observe(task, note)
  }

  status(): OrchestratorStatus {
    return this.current().status()
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    return this.current().subscribe(listener)
  }

  subscribeRecords(listener: (records: ReadonlySet<string> | null) => void): () => void {
    return this.current().subscribeRecords(listener)
  }

  recentEvents(limit?: number): readonly AgentEvent[] {
    return this.current().recentEvents(limit)
  }

  emit(kind: AgentEventKind): void {
    this.current().emit(kind)
  }

  lineage(row: LineageRow): Promise<void> {
    return this.current().lineage(row)
  }
}
