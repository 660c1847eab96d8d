import { setTimeout as delay } from 'node:timers/promises'
import {
  type DeliverBody,
  MAX_INBOX_LIMIT,
  type MeshMessage,
  REMOTE_TASK_ACK,
  REMOTE_TASK_CANCEL,
  REMOTE_TASK_ENVELOPE,
  REMOTE_TASK_RESULT,
  type RemoteJob,
  type RemoteOutcome,
  type RemoteProcessor,
  type RemoteTaskEnvelope,
  remoteAttestationOf,
  remoteResultKey
} from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { isHttpStatus } from './http-status.ts'
import { pauseMs, type StepResult } from './loop.ts'
import { type ClaimedMessage, keepLease, renewalInterval } from './message-lease.ts'
import { JOB_FAIL, JOB_RESULT, JOB_SUBMIT, jobKey } from './messages.ts'
import { readCancel, readEnvelope, readTaskPayload } from './payloads.ts'
import { stopReasonOf, WorkRefused, WorkStopped } from './work-stop.ts'

/** Milliseconds that the control plane may wait for a message before it answers. */
const WAIT_MS = 25_000
/** Characters of a result; a body of a control plane has at most 512 KiB by default. */
const MAX_RESULT_CHARS = 100_000
/** Milliseconds for which a message of another kind is left to other readers of the inbox. */
const OTHER_KIND_DELAY_MS = 60_000
const DELIVERY_RETRY_MS = 1_000
/** Milliseconds after which a busy node looks at a message in its mailbox again. */
const FULL_DELAY_MS = 1_000
/** Message types that become jobs. */
const WORK: ReadonlySet<string> = new Set([REMOTE_TASK_ENVELOPE, JOB_SUBMIT])
/** Maximum delay of a timer in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Pages of the inbox in which a started process looks for messages that it claimed before. */
const MAX_RESUME_PAGES = 32

export interface WorkerOptions {
  readonly client: MeshClient
  /** Id of this node. No other process may use it: a node gets again what it has claimed. */
  readonly node: string
  /** Agent whose inbox has the work. */
  readonly receiver: string
  /** Mailbox of this node. */
  readonly mailbox: string
  /** Maximum number of jobs at a time. */
  readonly maxJobs: number
  /** Repositories whose tasks are accepted; null: all of the scope. */
  readonly repositories: ReadonlySet<string> | null
  /** Returns the processor; null if there is none now, and nothing is claimed. */
  readonly processor: () => RemoteProcessor | null
  /** Signs the result of a `job_submit`; null: results are not signed. */
  readonly sign: ((payload: string) => Pick<DeliverBody, 'payload_blake3_hex' | 'worker_ed25519_sig_b64'>) | null
  readonly log: Logger
}

interface RunningJob {
  readonly key: string
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** A job of which the payload need not be readable. */
type NamedJob = Omit<RemoteJob, 'payload'>

/** Message to the sender of a message. */
type Reply = Pick<DeliverBody, 'message_type' | 'payload'> & {
  readonly idempotency_key: string
  readonly signed: boolean
}

/** Claims work from the inbox of an agent, runs it, and delivers the results. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #jobs = new Map<number, RunningJob>()
  #resumed = false
  #returns = true
  #freeSlot = (): void => {}

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  /** Keys of the jobs that run now. */
  get keys(): ReadonlySet<string> {
    return new Set([...this.#jobs.values()].map(({ key }) => key))
  }

  /** Whether messages that an earlier process had claimed are running again. */
  get resumed(): boolean {
    return this.#resumed
  }

  /** Claims at most one message. `again`: there may be more. */
  async step(signal: AbortSignal): Promise<StepResult> {
    const { client, node, receiver, maxJobs, processor } = this.#options
    if (processor() === null) return 'pause'
    if (!this.#resumed) await this.#resume(signal)
    if (this.#jobs.size >= maxJobs) await this.#slot(signal)
    const startedAt = performance.now()
    const { messages, serverMs } = await client.inbox(
      // A busy node wants further messages, not the one that it works on.
      { receiver_agent_id: receiver, claimer_node_id: node, wait_ms: WAIT_MS, own: this.#jobs.size === 0 },
      signal
    )
    const [message] = messages
    if (message !== undefined && !this.#jobs.has(message.id)) {
      await this.#take(message, serverMs, signal)
      return 'again'
    }
    // A control plane without long polls answers at once; it is then asked again after the interval.
    return message === undefined && performance.now() - startedAt >= WAIT_MS / 2 ? 'again' : 'pause'
  }

  /**
   * Stops all jobs and resolves when they have ended. `returns`: the messages are returned, so that another node can
   * continue at once; otherwise this node keeps their leases and continues after its reload.
   */
  async stop(returns: boolean): Promise<void> {
    this.#returns = returns
    const jobs = [...this.#jobs.values()]
    for (const { stop } of jobs) stop.abort(new WorkStopped('stopping', 'this node stops'))
    await Promise.all(jobs.map(({ ended }) => ended))
  }

  /** Continues work on messages that this node had claimed before a restart. */
  async #resume(signal: AbortSignal): Promise<void> {
    const { client, node, receiver, mailbox, maxJobs } = this.#options
    for (const inbox of [receiver, mailbox]) {
      const pages = client.pages(inbox, { pageSize: MAX_INBOX_LIMIT, maxPages: MAX_RESUME_PAGES }, signal)
      for await (const { messages, serverMs } of pages) {
        for (const message of messages) {
          const isOwn = message.lease_holder_node_id === node && WORK.has(message.message_type)
          if (!isOwn || this.#jobs.has(message.id) || this.#jobs.size >= maxJobs) continue
          const expires = message.lease_expires_unix_ms ?? 0
          if (serverMs !== null && expires > serverMs) await this.#take(message, serverMs, signal)
        }
      }
    }
    this.#resumed = true
  }

  /** Handles a message that this node has claimed from its own mailbox. Work beyond the limit of jobs waits there. */
  async take(message: MeshMessage, serverMs: number | null, signal: AbortSignal): Promise<void> {
    if (this.#jobs.has(message.id)) return
    const isFull = this.#jobs.size >= this.#options.maxJobs
    if (isFull && WORK.has(message.message_type)) await this.#nack(message, FULL_DELAY_MS, signal)
    else await this.#take(message, serverMs, signal)
  }

  async #take(message: MeshMessage, serverMs: number | null, signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    try {
      switch (message.message_type) {
        case REMOTE_TASK_ENVELOPE: {
          const envelope = readEnvelope(message.payload)
          await this.#begin(message, envelope.idempotency_key, envelope, envelope.payload, serverMs, signal)
          return
        }
        case JOB_SUBMIT:
          await this.#begin(
            message,
            jobKey(message.sender_agent_id, message.idempotency_key ?? message.id),
            null,
            message.payload,
            serverMs,
            signal
          )
          return
        case REMOTE_TASK_CANCEL:
          this.#cancel(readCancel(message.payload).idempotency_key)
          await this.#ack(message, signal)
          return
        default:
          await this.#leave(message, signal)
      }
    } catch (error) {
      if (!isSvcError(error, 'MND_PAYLOAD_INVALID')) throw error
      log.warn('a message was dropped', { message_id: message.id, reason: error.message })
      await this.#ack(message, signal)
    }
  }

  async #begin(
    message: MeshMessage,
    key: string,
    envelope: RemoteTaskEnvelope | null,
    payload: string,
    serverMs: number | null,
    signal: AbortSignal
  ): Promise<void> {
    const { repositories } = this.#options
    const named = { key, message_id: message.id, sender_agent_id: message.sender_agent_id, envelope }
    let job: RemoteJob
    try {
      job = { ...named, payload: readTaskPayload(payload) }
    } catch (error) {
      await this.#refuse(message, named, errorMessage(error), signal)
      return
    }
    const repository = repositoryOf(envelope)
    if (repositories !== null && (repository === null || !repositories.has(repository))) {
      await this.#refuse(
        message,
        job,
        `this node does not run tasks of the repository ${repository ?? '(unknown)'}`,
        signal
      )
      return
    }
    const stop = new AbortController()
    const leftMs = timeLeft(message, job, serverMs)
    if (leftMs <= 0) {
      this.#options.log.info('a job was dropped: its time limit is over', { message_id: message.id, key })
      await this.#ack(message, signal)
      return
    }
    const limit = setTimeout(() => stop.abort(new WorkStopped('cancelled', 'its time limit is over')), leftMs).unref()
    const ended = this.#run(message, job, serverMs, stop).finally(() => {
      clearTimeout(limit)
      this.#jobs.delete(message.id)
      this.#freeSlot()
    })
    this.#jobs.set(message.id, { key, stop, ended })
  }

  /** Runs a job to its end. Never rejects. */
  async #run(message: MeshMessage, job: RemoteJob, serverMs: number | null, stop: AbortController): Promise<void> {
    const { client, log } = this.#options
    const done = new AbortController()
    const fields = { message_id: message.id, key: job.key }
    const lease = keepLease(client, this.#claimOf(message), renewalInterval(message.lease_expires_unix_ms, serverMs), {
      signal: AbortSignal.any([done.signal, stop.signal]),
      lost: why => stop.abort(new WorkStopped('lost', why)),
      log
    })
    try {
      await this.#process(message, job, stop.signal)
    } catch (error) {
      if (!stop.signal.aborted) log.error('remote work ended with an error', { ...fields, error })
      else if (stopReasonOf(stop.signal) === 'stopping') {
        if (this.#returns) await this.#return(message)
      } else log.info('remote work was given up', { ...fields, reason: errorMessage(stop.signal.reason) })
      if (stop.signal.aborted && stopReasonOf(stop.signal) === 'cancelled') {
        await this.#ack(message, AbortSignal.timeout(DELIVERY_RETRY_MS)).catch(() => {})
      }
    } finally {
      done.abort()
      await lease
    }
  }

  async #process(message: MeshMessage, job: RemoteJob, signal: AbortSignal): Promise<void> {
    const { processor, log, node } = this.#options
    const chosen = processor()
    if (chosen === null)
      return await this.#refuse(message, job, 'no processor of remote work is active on this node', signal)
    log.info('remote work begins', { message_id: message.id, key: job.key, processor: chosen.name })
    if (job.envelope !== null) await this.#announce(message, job, true, `runs on ${node}`, signal)
    let success = true
    let outcome: RemoteOutcome
    try {
      outcome = await chosen.run(job, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof WorkRefused) return await this.#refuse(message, job, error.message, signal)
      success = false
      outcome = { result: errorMessage(error) }
    }
    signal.throwIfAborted()
    await this.#deliver(message, resultOf(message, job, success, outcome, node), signal)
    await this.#ack(message, signal)
    log.info('the result of remote work was delivered', { message_id: message.id, key: job.key, success })
  }

  /** Notifies the sender that the work is not done here, so that it need not wait. */
  async #refuse(message: MeshMessage, job: NamedJob, why: string, signal: AbortSignal): Promise<void> {
    this.#options.log.warn('remote work was refused', { message_id: message.id, key: job.key, reason: why })
    if (job.envelope === null)
      await this.#deliver(message, resultOf(message, job, false, { result: why }, this.#options.node), signal)
    else await this.#announce(message, job, false, why, signal)
    await this.#ack(message, signal)
  }

  async #announce(
    message: MeshMessage,
    job: NamedJob,
    accepted: boolean,
    detail: string,
    signal: AbortSignal
  ): Promise<void> {
    const { node } = this.#options
    const payload = { idempotency_key: job.key, accepted, detail, ...echoed(job), claimer_node_id: node }
    await this.#deliver(
      message,
      {
        message_type: REMOTE_TASK_ACK,
        payload: JSON.stringify(payload),
        idempotency_key: `remote-ack-${accepted ? 'yes' : 'no'}-${node}-${job.key}`,
        signed: false
      },
      signal
    )
  }

  /** Delivers a reply, and repeats it until the control plane has it. Gives up only if the plane refuses it. */
  async #deliver(message: MeshMessage, reply: Reply, signal: AbortSignal): Promise<void> {
    const { client, sign, log } = this.#options
    const { signed, ...body } = reply
    const proof = signed && sign !== null ? sign(body.payload) : null
    const addressed = {
      ...body,
      ...proof,
      sender_agent_id: this.#inboxOf(message),
      receiver_agent_id: message.sender_agent_id
    }
    try {
      await this.#insist('a reply', message, () => client.deliver(addressed, signal), signal)
    } catch (error) {
      if (!isHttpStatus(error)) throw error
      // Repeating does not help: the sender takes the task back when its hold ends.
      log.error('a reply was refused by the control plane', { message_id: message.id, error })
    }
  }

  /** Repeats a call until the control plane has it. Rejects if the plane refuses it, or the signal is aborted. */
  async #insist(what: string, message: MeshMessage, call: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      try {
        await call()
        return
      } catch (error) {
        signal.throwIfAborted()
        if (isHttpStatus(error) && error.data.status < 500 && error.data.status !== 429) throw error
        this.#options.log.warn(`${what} could not be delivered; it is repeated`, {
          message_id: message.id,
          failures,
          reason: errorMessage(error)
        })
      }
      await delay(pauseMs(DELIVERY_RETRY_MS, failures, Math.random()), undefined, { signal })
    }
  }

  /** Acknowledges a message. A message that is gone, or of another node by now, needs nothing. */
  async #ack(message: MeshMessage, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    const ack = () => client.ack(this.#inboxOf(message), message.id, message.fence, signal)
    await this.#insist('an acknowledgement', message, ack, signal)
  }

  /** Returns a claimed message, so that another node need not wait for the end of the lease. Never rejects. */
  async #return(message: MeshMessage): Promise<void> {
    await this.#nack(message, 0, AbortSignal.timeout(DELIVERY_RETRY_MS)).catch(() => {})
  }

  /** Leaves a message that is no work to other readers of the inbox. */
  async #leave(message: MeshMessage, signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    log.debug('a message is no work', { message_id: message.id, message_type: message.message_type })
    await this.#nack(message, OTHER_KIND_DELAY_MS, signal).catch(error => {
      if (!isHttpStatus(error)) throw error
    })
  }

  async #nack(message: MeshMessage, delayMs: number, signal: AbortSignal): Promise<void> {
    // Without a fence, the control plane has no extensions; the lease expires instead.
    if (message.fence === undefined) return
    const { id, fence } = message
    const body = { receiver_agent_id: this.#inboxOf(message), message_id: id, fence, delay_ms: delayMs }
    await this.#options.client.extension('POST', '/x/a2a/nack', body, signal)
  }

  #cancel(key: string): void {
    for (const job of this.#jobs.values())
      if (job.key === key) job.stop.abort(new WorkStopped('cancelled', 'the sender cancelled the task'))
  }

  #claimOf(message: MeshMessage): ClaimedMessage {
    const { node } = this.#options
    return {
      receiver: this.#inboxOf(message),
      message: message.id,
      node,
      ...(message.fence === undefined ? null : { fence: message.fence })
    }
  }

  #inboxOf({ receiver_agent_id }: MeshMessage): string {
    return receiver_agent_id ?? this.#options.receiver
  }

  /** Waits until a job ends. */
  async #slot(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      this.#freeSlot = () => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
    })
  }
}

/** Returns the milliseconds until the result of a job is no longer wanted, by the clock of the control plane. */
function timeLeft({ created_unix_ms }: MeshMessage, { payload }: RemoteJob, serverMs: number | null): number {
  const { timeout_ms } = payload
  if (timeout_ms === undefined) return MAX_TIMER_MS
  const ageMs = serverMs === null ? 0 : Math.max(0, serverMs - created_unix_ms)
  return Math.min(MAX_TIMER_MS, timeout_ms - ageMs)
}

function repositoryOf(envelope: RemoteTaskEnvelope | null): string | null {
  if (envelope === null) return null
  return envelope.submitter_repository_id ?? envelope.repository_id
}

/** Fields by which the sender recognises its task. */
function echoed({ envelope }: NamedJob): Readonly<Record<string, unknown>> {
  if (envelope === null) return {}
  const { task_id, submitter_node_id, submitter_repository_id } = envelope
  return { task_id, submitter_node_id, submitter_repository_id }
}

function resultOf(
  message: MeshMessage,
  job: NamedJob,
  success: boolean,
  { result, attestation }: RemoteOutcome,
  node: string
): Reply {
  const text = shortened(result)
  const outcome = success ? { result: text } : { error: text }
  const { envelope, key } = job
  if (envelope === null) {
    const payload = { job_id: key, message_id: message.id, success, ...outcome, claimer_node_id: node }
    return {
      message_type: success ? JOB_RESULT : JOB_FAIL,
      payload: JSON.stringify(payload),
      idempotency_key: `job-result-${message.id}-${key}`,
      signed: true
    }
  }
  const claims = attestation === undefined ? null : { attestation: remoteAttestationOf(attestation) }
  const payload = { idempotency_key: key, ...echoed(job), success, ...outcome, ...claims, claimer_node_id: node }
  return {
    message_type: REMOTE_TASK_RESULT,
    payload: JSON.stringify(payload),
    idempotency_key: remoteResultKey(envelope.task_id, key),
    signed: false
  }
}

function shortened(text: string): string {
  return text.length <= MAX_RESULT_CHARS ? text : `${text.slice(0, MAX_RESULT_CHARS)}… (${text.length} characters)`
}
