import type {
  Attestation,
  HeldTask,
  MeshPolicy,
  RemoteDelegate,
  RemoteNode,
  RemoteWork,
  WithdrawalReason
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { RemoteNodes } from '../routing/remote-nodes.ts'
import { acceptHeld, completeHeld, failHeld, fallBack, heldWith } from '../state/holds.ts'
import type { GatePort } from '../state/ports.ts'
import { taskView } from '../state/task.ts'
import type { World } from '../state/world.ts'
import type { CommandRunner } from './command-runner.ts'
import type { WithdrawalFeed } from './withdrawals.ts'

/** Targets of the log lines about routing and placement; readers of the log filter by them. */
export const LOG_TARGETS = { routing: 'vox.orchestrator.routing', placement: 'vox.orchestrator.placement' } as const

export interface RemoteWorkDependencies {
  readonly world: World
  readonly runner: CommandRunner
  readonly gates: GatePort
  readonly nodes: RemoteNodes
  readonly withdrawals: WithdrawalFeed
  readonly policy: () => MeshPolicy
  readonly log: Logger
  readonly report: (operation: string, error: unknown) => void
  /** Resolves the symbolic links of artifacts in an attestation. */
  readonly withRealPaths: (attestation: Attestation) => Attestation
  readonly rebalance: () => Promise<number>
  readonly replayQueuedRoutes: () => Promise<number>
}

/** Nodes and held tasks, for the plugins that place tasks on other machines. */
export class RemoteWorkService implements RemoteWork {
  readonly #deps: RemoteWorkDependencies
  /** Resolves when the drops of schedulable nodes so far were handled; null if there are none. */
  #dropping: Promise<void> | null = null
  /** True if the number of nodes dropped again meanwhile. */
  #droppedAgain = false

  constructor(deps: RemoteWorkDependencies) {
    this.#deps = deps
  }

  setNodes(source: string, nodes: readonly RemoteNode[]): { readonly before: number; readonly after: number } {
    const { nodes: known, policy, log } = this.#deps
    const before = known.schedulable
    known.set(source, nodes)
    const after = known.schedulable
    if (after >= before) return { before, after }
    if (policy().routing_experimental) {
      log.info('the number of schedulable nodes has dropped', {
        target: LOG_TARGETS.routing,
        decision: 'mesh_remote_schedulable_decreased',
        source,
        before,
        after
      })
    }
    this.#dropped()
    return { before, after }
  }

  nodes(): readonly (RemoteNode & { readonly source: string })[] {
    return this.#deps.nodes.all()
  }

  held(): readonly HeldTask[] {
    const held = Array.from(this.#deps.world.holds.values(), ({ id, agent, startedAt, extra }) => ({
      task_id: id,
      agent_id: agent,
      delegate: extra?.remote as RemoteDelegate,
      since_ms: startedAt
    }))
    return held.sort((one, other) => one.task_id - other.task_id)
  }

  async complete(task: number, key: string, given: Attestation, node?: string): Promise<'done' | 'stale'> {
    const { world, runner, gates, withRealPaths } = this.#deps
    const held = heldWith(world, task, key)
    if (held === null) return 'stale'
    const attestation = withRealPaths(given)
    // Evidence is gathered before the command runs, which compares the key again.
    const gathering = gates.gather(taskView(held), attestation)
    const evidence = gathering === null ? null : await gathering
    const completion = await runner.run((world, changes) =>
      completeHeld(world, changes, task, key, { attestation, evidence, node })
    )
    return completion === null ? 'stale' : 'done'
  }

  async fail(task: number, key: string, error: string, node?: string): Promise<'done' | 'stale'> {
    const isFailed = await this.#deps.runner.run((world, changes) => failHeld(world, changes, task, key, error, node))
    return isFailed ? 'done' : 'stale'
  }

  async accept(task: number, key: string, node: string): Promise<'done' | 'stale'> {
    const isHeld = await this.#deps.runner.run((world, changes) => acceptHeld(world, changes, task, key, node))
    return isHeld ? 'done' : 'stale'
  }

  fallBack(task: number, key: string, reason: string): Promise<'queued' | 'stale'> {
    return this.#deps.runner.run((world, changes) => fallBack(world, changes, task, key, reason))
  }

  withdrawn(listener: (task: number, delegate: RemoteDelegate, why: WithdrawalReason) => void): () => void {
    return this.#deps.withdrawals.subscribe(listener)
  }

  /** Resolves when the drops of schedulable nodes so far were handled. */
  async settled(): Promise<void> {
    while (this.#dropping !== null) await this.#dropping
  }

  #dropped(): void {
    this.#droppedAgain = this.#dropping !== null
    if (this.#droppedAgain) return
    this.#dropping = this.#handleDrop()
      .catch(error => this.#deps.report('a drop of schedulable nodes', error))
      .finally(() => {
        this.#dropping = null
        if (this.#droppedAgain) this.#dropped()
      })
  }

  async #handleDrop(): Promise<void> {
    const { policy, log, rebalance, replayQueuedRoutes } = this.#deps
    const { rebalance_on_remote_schedulable_drop, replay_queued_routes_on_remote_schedulable_drop } = policy()
    if (rebalance_on_remote_schedulable_drop) {
      const tasks_moved = await rebalance()
      const decision = tasks_moved > 0 ? 'mesh_remote_drop_load_rebalance' : 'mesh_remote_drop_load_rebalance_noop'
      log.info('queued tasks were rebalanced', { target: LOG_TARGETS.routing, decision, tasks_moved })
    }
    if (replay_queued_routes_on_remote_schedulable_drop) {
      const decision = 'mesh_remote_drop_queued_route_replay'
      const tasks_moved = await replayQueuedRoutes()
      log.info('queued tasks were routed again', { target: LOG_TARGETS.routing, decision, tasks_moved })
    }
  }
}
