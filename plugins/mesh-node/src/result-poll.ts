import {
  type Attestation,
  type HeldTask,
  type MeshMessage,
  type MeshPolicy,
  type Orchestrator,
  REMOTE_TASK_ACK,
  REMOTE_TASK_RESULT,
  type RemoteTaskAck,
  type RemoteTaskResult,
  remoteAttestationOf,
  taskLabel
} from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { InboxPage, MeshClient } from './client.ts'
import { type Delegation, PLACER } from './delegation.ts'
import { isHttpStatus } from './http-status.ts'
import type { LeaseHolder } from './lease-holder.ts'
import { readAck, readResult } from './payloads.ts'
import type { PlainRelay } from './plain-relay.ts'

/** Pages of one poll. Messages beyond them are read in the next poll, once these are acknowledged. */
const MAX_PAGES = 32
/** Leases that are renewed at a time. */
const RENEWALS = 8
/** Characters of a result that become the summary of a task. */
const MAX_SUMMARY_CHARS = 16_000
/** A hold ends before this age in milliseconds, so an older result of unknown origin has no taker. */
const STALE_AFTER_MS = 360_000
/** Age in milliseconds at which a result for another machine is removed: that machine no longer polls. */
const ABANDONED_AFTER_MS = 3_600_000
/** Milliseconds that an envelope may wait for a worker while the mesh has none. */
const UNCLAIMED_AFTER_MS = 30_000

export interface ResultPollOptions {
  readonly client: MeshClient
  readonly holder: LeaseHolder
  readonly delegation: Delegation
  readonly relay: PlainRelay
  readonly orchestrator: Pick<Orchestrator, 'remote' | 'task'>
  readonly policy: () => Pick<MeshPolicy, 'remote_execute_sender_agent' | 'remote_result_max_messages_per_poll'>
  /** Number of schedulable nodes at the last poll; null if unknown. */
  readonly schedulable: () => number | null
  readonly log: Logger
  readonly now?: () => number
}

/** Check of each result: another machine has done the task, and its gates have accepted it. */
const PEER_REVIEW = 'peer_review_approved'

/** Why a hold ends without a result. */
interface Lost {
  readonly held: HeldTask
  readonly reason: string
  /** Whether a result may still arrive. */
  readonly mayEnd: boolean
}

/** Keeps the leases of held tasks, and uses the results that other machines deliver. */
export class ResultPoll {
  readonly #options: ResultPollOptions
  /** Keys that a worker has accepted. */
  readonly #accepted = new Set<string>()
  /** Keys whose envelope could not be withdrawn any more: the result may be on its way. */
  readonly #gone = new Set<string>()

  constructor(options: ResultPollOptions) {
    this.#options = options
  }

  /** Returns the tasks of this placer that other machines work on. */
  held(): readonly HeldTask[] {
    return this.#options.orchestrator.remote
      .held()
      .filter(({ delegate }) => delegate.placer === PLACER && delegate.confirmed)
  }

  /** Runs one poll: renews leases, reads results, and takes back tasks whose lease is lost. */
  async poll(signal: AbortSignal): Promise<void> {
    const held = this.held()
    this.#forgetEnded(held)
    const lost = await this.#renew(held, signal)
    let failure: unknown
    const refused: string[] = []
    try {
      await this.#read(refused, signal)
    } catch (error) {
      failure = error
    }
    signal.throwIfAborted()
    // Results were read first: a worker may have finished just before its lease ended.
    for (const each of [...lost, ...this.#refusedOf(refused), ...this.#unclaimed()]) await this.#fallBack(each, signal)
    if (failure !== undefined) throw failure
  }

  async #renew(held: readonly HeldTask[], signal: AbortSignal): Promise<readonly Lost[]> {
    const { holder, log } = this.#options
    const lost: Lost[] = []
    const queue = [...held]
    const work = async (): Promise<void> => {
      for (let each = queue.shift(); each !== undefined; each = queue.shift()) {
        const { lease_id, claimer_node_id = holder.id } = each.delegate
        if (lease_id === undefined || signal.aborted) continue
        try {
          await holder.renew(lease_id, claimer_node_id, signal)
        } catch (error) {
          if (isHttpStatus(error, 403, 404, 409))
            lost.push({ held: each, reason: `the execution lease was lost: ${error.message}`, mayEnd: true })
          else log.debug('a lease could not be renewed', { lease_id, reason: errorMessage(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(RENEWALS, held.length) }, work))
    return lost
  }

  async #read(refused: string[], signal: AbortSignal): Promise<void> {
    const { client, policy } = this.#options
    const { remote_execute_sender_agent: inbox, remote_result_max_messages_per_poll: pageSize } = policy()
    for await (const page of client.pages(inbox, { pageSize, maxPages: MAX_PAGES }, signal)) {
      for (const message of page.messages) {
        if (!(await this.#isDone(message, page, refused))) continue
        await client.ack(inbox, message.id, undefined, signal)
      }
    }
  }

  /** Handles a message. Returns whether it can be acknowledged; false leaves it for the next poll, or for others. */
  async #isDone(message: MeshMessage, page: InboxPage, refused: string[]): Promise<boolean> {
    const { log, now = Date.now } = this.#options
    const ageMs = (page.serverMs ?? now()) - message.created_unix_ms
    try {
      if (message.message_type === REMOTE_TASK_RESULT) return await this.#useResult(readResult(message.payload), ageMs)
      if (message.message_type === REMOTE_TASK_ACK) return await this.#noteAck(readAck(message.payload), ageMs, refused)
      return false
    } catch (error) {
      if (isSvcError(error, 'MND_PAYLOAD_INVALID')) {
        log.warn('a message of a worker was dropped', { message_id: message.id, reason: error.message })
        return true
      }
      log.warn('a result could not be used; it is read again', { message_id: message.id, reason: errorMessage(error) })
      return false
    }
  }

  async #useResult(result: RemoteTaskResult, ageMs: number): Promise<boolean> {
    const { orchestrator, relay, delegation, log } = this.#options
    const { idempotency_key: key, success, claimer_node_id: node } = result
    const text = textOf(result)
    const task = this.held().find(({ delegate }) => delegate.idempotency_key === key)
    if (task !== undefined) {
      const { remote } = orchestrator
      const outcome = success
        ? await remote.complete(task.task_id, key, attestationOf(result, text), node)
        : await remote.fail(task.task_id, key, text, node)
      log.info('the result of a delegated task arrived', { task: taskLabel(task.task_id), success, outcome })
      // The worker has removed the envelope.
      await delegation.release(task.delegate)
      return true
    }
    if (relay.has(key)) {
      await relay.settle(key, { success, text, attestation: attestationOf(result, text) })
      return true
    }
    const done = this.#isStale(result, ageMs)
    if (done) log.info('a stale result was dropped', { idempotency_key: key })
    return done
  }

  async #noteAck(ack: RemoteTaskAck, ageMs: number, refused: string[]): Promise<boolean> {
    const { idempotency_key: key, accepted, claimer_node_id: node } = ack
    const held = this.held().find(({ delegate }) => delegate.idempotency_key === key)
    if (held !== undefined) {
      if (accepted && node !== undefined) await this.#options.orchestrator.remote.accept(held.task_id, key, node)
      if (accepted) this.#accepted.add(key)
      else refused.push(key)
      return true
    }
    return this.#options.relay.has(key) || this.#isStale(ack, ageMs)
  }

  /**
   * Whether a message with an unknown key is removed. Other processes and machines may read the same inbox, so a message
   * of another one stays until it has no taker any more.
   */
  #isStale(message: RemoteTaskResult | RemoteTaskAck, ageMs: number): boolean {
    const { delegation, orchestrator } = this.#options
    const { submitter_node_id, submitter_repository_id } = delegation.submitter
    const { submitter_node_id: node, submitter_repository_id: repository, task_id } = message
    if (node === undefined) return ageMs > STALE_AFTER_MS
    const isOwn = node === submitter_node_id && repository === submitter_repository_id
    if (!isOwn) return ageMs > ABANDONED_AFTER_MS
    // A task that this process does not have may be that of another process of this machine.
    const isHere = task_id !== undefined && orchestrator.task(task_id) !== null
    return isHere || ageMs > STALE_AFTER_MS
  }

  #refusedOf(keys: readonly string[]): readonly Lost[] {
    return this.held()
      .filter(({ delegate }) => keys.includes(delegate.idempotency_key))
      .map(held => ({ held, reason: 'the worker did not accept the task', mayEnd: false }))
  }

  /** Returns held tasks that no worker has accepted, if the mesh has no node that could. */
  #unclaimed(): readonly Lost[] {
    const { schedulable, now = Date.now } = this.#options
    if (schedulable() !== 0) return []
    return this.held()
      .filter(({ delegate, since_ms }) => {
        return !this.#accepted.has(delegate.idempotency_key) && now() - since_ms > UNCLAIMED_AFTER_MS
      })
      .map(held => ({ held, reason: 'no node of the mesh can take the task', mayEnd: true }))
  }

  async #fallBack({ held, reason, mayEnd }: Lost, signal: AbortSignal): Promise<void> {
    const { delegation, orchestrator, log } = this.#options
    const { task_id, delegate } = held
    const key = delegate.idempotency_key
    if (!this.held().some(each => each.delegate.idempotency_key === key)) return
    const wasThere = await delegation.takeBack(task_id, delegate, reason, signal)
    signal.throwIfAborted()
    if (mayEnd && !wasThere && !this.#gone.has(key)) {
      this.#gone.add(key)
      return
    }
    const outcome = await orchestrator.remote.fallBack(task_id, key, reason)
    log.warn('a delegated task returned to the local queue', { task: taskLabel(task_id), reason, outcome })
  }

  #forgetEnded(held: readonly HeldTask[]): void {
    const keys = new Set(held.map(({ delegate }) => delegate.idempotency_key))
    for (const known of [this.#accepted, this.#gone]) for (const key of known) if (!keys.has(key)) known.delete(key)
  }
}

function textOf({ success, result, error }: RemoteTaskResult): string {
  const text = success ? (result ?? 'completed on another machine') : (error ?? 'failed on another machine')
  return text.slice(0, MAX_SUMMARY_CHARS)
}

/** Returns the claims of the worker's own completion, as one that another machine has reviewed. */
function attestationOf({ attestation = {} }: RemoteTaskResult, text: string): Attestation {
  const { checks_passed = [], ...claims } = remoteAttestationOf(attestation)
  return { ...claims, completion_summary: text, checks_passed: [...new Set([...checks_passed, PEER_REVIEW])] }
}
