import {
  type MeshPolicy,
  type MeshSettings,
  type Orchestrator,
  type PlacingTask,
  REMOTE_TASK_CANCEL,
  REMOTE_TASK_ENVELOPE,
  type RemoteDelegate,
  type RemotePlacement,
  type RemotePlacer,
  type TaskView,
  taskLabel,
  taskScopeKey
} from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { CANCEL_PRIORITY, cancelOf, envelopeOf, MESSAGE_PRIORITY, type Submitter } from './envelope.ts'
import { meshNodeErrors } from './errors.ts'
import { isHttpStatus } from './http-status.ts'
import type { LeaseHolder } from './lease-holder.ts'

/** Name of this placer; `RemoteDelegate.placer` of its tasks. */
export const PLACER = 'mesh'

export interface DelegationOptions {
  readonly client: MeshClient
  readonly holder: LeaseHolder
  readonly orchestrator: Pick<Orchestrator, 'repositoryId'>
  readonly policy: () => MeshPolicy
  readonly settings: Pick<MeshSettings, 'scopeId'>
  readonly log: Logger
  readonly now?: () => number
}

/** Sends tasks to other machines, and takes them back. */
export class Delegation implements RemotePlacer {
  readonly name = PLACER
  readonly #options: DelegationOptions

  constructor(options: DelegationOptions) {
    this.#options = options
  }

  /** Identity of this machine in envelopes, and in the results for it. */
  get submitter(): Submitter {
    const { holder, orchestrator } = this.#options
    return { submitter_node_id: holder.id, submitter_repository_id: orchestrator.repositoryId }
  }

  /** True for a task whose role needs an execution lease, if the settings allow tasks to leave this machine. */
  wants(task: TaskView): boolean {
    const policy = this.#options.policy()
    return (
      this.canRelay(task) && policy.remote_lease_gating_enabled && policy.remote_lease_gated_roles.includes(task.role)
    )
  }

  /** True for a task that may be sent to another machine. A task that came from another machine never is. */
  canRelay(task: TaskView): boolean {
    const { client, policy } = this.#options
    const { remote_execute_experimental, remote_execute_receiver_agent } = policy()
    return (
      remote_execute_experimental &&
      remote_execute_receiver_agent !== null &&
      client.configured &&
      task.remote_origin === undefined
    )
  }

  /** Takes the lease of a task and delivers its envelope. Releases the lease if that fails. */
  async place(task: PlacingTask, signal: AbortSignal): Promise<RemotePlacement> {
    const { holder, orchestrator, log } = this.#options
    const key = task.remote.idempotency_key
    const lease = await holder.grant(taskScopeKey(orchestrator.repositoryId, task.id), signal)
    try {
      const message_id = await this.deliver(task, key, lease.lease_id, signal)
      log.debug('a task was delegated', { task: taskLabel(task.id), lease_id: lease.lease_id, message_id })
      return { lease_id: lease.lease_id, claimer_node_id: holder.id, message_id }
    } catch (error) {
      const delegate = { idempotency_key: key, lease_id: lease.lease_id, claimer_node_id: holder.id }
      // Without an answer, the envelope may have arrived. Its result would be stale, but the work can be spared.
      if (isHttpStatus(error)) await this.release(delegate)
      else await this.takeBack(task.id, delegate, 'the relay was not confirmed')
      throw error
    }
  }

  /** Delivers the envelope of a task. Returns the id of the message; the same key gives the same message. */
  async deliver(task: TaskView, key: string, leaseId: string | undefined, signal?: AbortSignal): Promise<number> {
    const { client, settings, policy, now = Date.now } = this.#options
    const envelope = envelopeOf(task, {
      ...this.submitter,
      key,
      scopeId: settings.scopeId,
      ...(leaseId === undefined ? null : { leaseId }),
      now: now()
    })
    const message = {
      ...this.#route(policy()),
      message_type: REMOTE_TASK_ENVELOPE,
      payload: JSON.stringify(envelope),
      idempotency_key: key,
      priority: MESSAGE_PRIORITY[task.priority]
    }
    return client.deliver(message, signal)
  }

  /**
   * Withdraws the envelope, notifies the worker, and releases the lease. Each step is attempted, whatever the others do; a
   * lease that cannot be released expires. Returns false if the envelope was gone: a worker has delivered its result.
   */
  async takeBack(
    task: number,
    delegate: Pick<RemoteDelegate, 'idempotency_key' | 'lease_id' | 'claimer_node_id' | 'message_id'>,
    reason: string,
    signal?: AbortSignal
  ): Promise<boolean> {
    const { client, policy, log } = this.#options
    const { idempotency_key: key, message_id } = delegate
    const fields = { task: taskLabel(task), lease_id: delegate.lease_id }
    const route = this.#route(policy())
    let wasThere = true
    if (message_id !== undefined)
      await client.ack(route.receiver_agent_id, message_id, undefined, signal).then(
        found => {
          wasThere = found
        },
        error => log.warn('an envelope could not be withdrawn', { ...fields, reason: errorMessage(error) })
      )
    const cancel = {
      ...route,
      message_type: REMOTE_TASK_CANCEL,
      payload: JSON.stringify(cancelOf(key, task, reason)),
      idempotency_key: `remote-cancel-${task}-${key}`,
      priority: CANCEL_PRIORITY
    }
    // A worker that has delivered its result has nothing left to cancel.
    if (wasThere)
      await client.deliver(cancel, signal).catch(error => {
        log.warn('a cancellation could not be relayed', { ...fields, reason: errorMessage(error) })
      })
    await this.release(delegate, signal)
    return wasThere
  }

  /** Releases the lease of a delegate. Never rejects: the lease expires otherwise. */
  async release(delegate: Pick<RemoteDelegate, 'lease_id' | 'claimer_node_id'>, signal?: AbortSignal): Promise<void> {
    const { holder, log } = this.#options
    const { lease_id, claimer_node_id = holder.id } = delegate
    if (lease_id === undefined) return
    await holder.release(lease_id, claimer_node_id, signal).catch(error => {
      log.debug('a lease could not be released; it expires', { lease_id, reason: errorMessage(error) })
    })
  }

  #route(policy: MeshPolicy): { readonly sender_agent_id: string; readonly receiver_agent_id: string } {
    const { remote_execute_receiver_agent: receiver, remote_execute_sender_agent: sender } = policy
    if (receiver === null)
      throw meshNodeErrors.create('MND_NOT_CONFIGURED', 'tasks cannot be relayed: no receiving agent is set', {
        hint: 'set [orchestrator] mesh_remote_execute_receiver_agent, for example to "2"'
      })
    return { sender_agent_id: sender, receiver_agent_id: receiver }
  }
}
