import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type DeliverBody,
  type MeshActivityOutcome,
  type MeshActivityRequest,
  type MeshMessage,
  type MeshPolicy,
  REMOTE_TASK_CANCEL
} from '@svc/contracts'
import { errorMessage, isSvcError, type Logger, raceAbort, Semaphore, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import type { MeshClient } from './client.ts'
import { CANCEL_PRIORITY, cancelOf } from './envelope.ts'
import { meshNodeErrors } from './errors.ts'
import { isNodeRecord } from './hints.ts'
import { isHttpStatus } from './http-status.ts'
import { pauseMs } from './loop.ts'
import { mailboxOf } from './mailboxes.ts'
import { JOB_FAIL, JOB_RESULT, JOB_SUBMIT, jobKey } from './messages.ts'
import { chooseNode, inboxOf, type NodeChoice } from './node-choice.ts'

/** Inbox of work if no receiving agent is set. */
const DEFAULT_RECEIVER = '2'
/** Message with the node that was chosen for a job. */
const JOB_CHOICE = 'job_choice'
/** Milliseconds that the control plane may wait for an answer before it answers itself. */
const WAIT_MS = 20_000
/** Calls that wait for answers at a time. With more jobs, each call returns at once. */
const MAX_WAITING_CALLS = 32
/** Minimum interval of looks for one answer, and what each waiting job adds to it, in milliseconds. */
const LOOK_MS = 500
const LOOK_PER_JOB_MS = 5
const RETRY_MS = 500
/** Limit for the cancellation of a job, and for the removal of its messages, in milliseconds. */
const CLEAN_TIMEOUT_MS = 5_000
const MAX_MESSAGES = 16
/** Maximum characters of a key on the wire; a longer one is replaced by its hash. */
const MAX_KEY_CHARS = 512

const checkAnswer = schemaCheck(
  t.object(
    {
      success: t.boolean(),
      result: t.optional(t.string()),
      error: t.optional(t.string()),
      claimer_node_id: t.optional(t.string())
    },
    { additionalProperties: true }
  )
)
const checkChoice = schemaCheck(t.object({ receiver: t.string(), node: t.nullable(t.string()) }))

export interface JobOptions {
  readonly client: MeshClient
  /** Id of this node. */
  readonly node: () => string
  readonly policy: () => Pick<MeshPolicy, 'remote_execute_receiver_agent' | 'stale_threshold_ms'>
  readonly log: Logger
}

/** A job that was sent to a node. */
interface SentJob {
  readonly node: string | null
  readonly body: DeliverBody & { readonly idempotency_key: string }
  /** Null while the control plane has not confirmed the job. */
  readonly id: number | null
}

/**
 * Jobs that workflows send to other nodes. The mailbox of an answer is named after the key of its step, and the node that
 * was chosen is kept in a mailbox, too: a step that is requested again finds its job. Both stay until the step is forgotten.
 */
export class MeshJobs {
  readonly #options: JobOptions
  readonly #calls = new Semaphore(MAX_WAITING_CALLS)
  /** Jobs whose answer is awaited. */
  #waiting = 0
  /** Mailboxes to empty when a step is forgotten, by its key. */
  readonly #kept = new Map<string, readonly string[]>()

  constructor(options: JobOptions) {
    this.#options = options
  }

  /**
   * Sends a job and returns its result. With an argument `job`, returns a handle of the job at once. Throws `MND_NO_NODE`,
   * `MND_PROCESSOR_FAILED` if the job failed, `MND_JOB_LATE` if the signal is aborted with a `TimeoutError`, and the errors
   * of the client. Calls without an answer are repeated until the signal is aborted.
   */
  async dispatch(step: MeshActivityRequest, signal: AbortSignal): Promise<MeshActivityOutcome> {
    const request = { ...step, key: shortKey(step.key) }
    const { key, args, activity } = request
    const reply = replyTo(key)
    const name = typeof args.job === 'string' && args.job !== '' ? args.job : null
    // The result of a named job is kept until its wait.
    this.#kept.set(step.key, name === null ? [reply, choiceOf(key)] : [choiceOf(key)])
    let sent: SentJob | null = null
    try {
      const earlier = await this.#insist(signal, () => this.#look(reply, 0, signal))
      if (earlier !== null && name === null) return outcomeOf(earlier, 'dispatch_ok')
      const { receiver, node } = await this.#choose(request, signal)
      const payload = JSON.stringify(payloadOf(request, name === null))
      const route = { sender_agent_id: reply, receiver_agent_id: receiver, message_type: JOB_SUBMIT }
      const body = { ...route, payload, idempotency_key: key }
      sent = { node, body, id: null }
      sent = { ...sent, id: await this.#send(body, signal) }
      if (name === null) return outcomeOf(await this.#answer(reply, signal), 'dispatch_ok')
      return { control: 'dispatch_ok', ...(node === null ? null : { node_id: node }), output: `${name}@${reply}` }
    } catch (error) {
      // When this process stops, the work goes on, and the step is requested again.
      if (!isTimeout(signal)) throw error
      if (sent !== null) throw late(activity, await this.#cancel(key, sent))
      throw isSvcError(error, 'MND_JOB_LATE') ? error : late(activity, 'no node has been chosen for the job')
    }
  }

  /** Returns the result of a job by its handle. Throws `MND_PAYLOAD_INVALID`, and what `dispatch` throws. */
  async wait({ key, args, activity }: MeshActivityRequest, signal: AbortSignal): Promise<MeshActivityOutcome> {
    const reply = typeof args.job === 'string' ? /@(9[0-9]{15})$/.exec(args.job)?.[1] : undefined
    if (reply === undefined)
      throw meshNodeErrors.create('MND_PAYLOAD_INVALID', `${activity}: the argument job is no handle of a job`, {
        hint: 'pass the result of the step dispatch as job'
      })
    try {
      const outcome = outcomeOf(await this.#answer(reply, signal), 'wait_ok')
      this.#kept.set(key, [reply])
      return outcome
    } catch (error) {
      // A failure stays, so that further attempts fail with it.
      throw isTimeout(signal) ? late(activity, `the job ${args.job} has no result`) : error
    }
  }

  /** Removes what was kept for a repetition of a step. Never rejects. */
  async forget(key: string): Promise<void> {
    const { client, log } = this.#options
    const mailboxes = this.#kept.get(key) ?? []
    this.#kept.delete(key)
    const signal = AbortSignal.timeout(CLEAN_TIMEOUT_MS)
    try {
      for (const mailbox of mailboxes) {
        const { messages } = await client.inbox({ receiver_agent_id: mailbox, max_messages: MAX_MESSAGES }, signal)
        for (const { id } of messages) await client.ack(mailbox, id, undefined, signal)
      }
    } catch (error) {
      log.debug('messages of a job could not be removed', { key, reason: errorMessage(error) })
    }
  }

  /** Chooses the node of a job once: a repeated step goes to the node of its first request, which may have the job. */
  async #choose({ key, labels }: MeshActivityRequest, signal: AbortSignal): Promise<NodeChoice> {
    const { client, policy, node } = this.#options
    const mailbox = choiceOf(key)
    const read = async (): Promise<NodeChoice | null> => {
      const { messages } = await client.inbox({ receiver_agent_id: mailbox, max_messages: MAX_MESSAGES }, signal)
      const checked = checkChoice(json(messages.at(-1)?.payload))
      return checked.ok ? checked.value : null
    }
    const known = await this.#insist(signal, read)
    if (known !== null) return known
    const { list } = await this.#insist(signal, () => client.nodes(null, signal))
    const { remote_execute_receiver_agent: receiver, stale_threshold_ms: staleMs } = policy()
    const shared = receiver ?? DEFAULT_RECEIVER
    const facts = { labels, shared, own: node(), now: Date.now(), staleMs, random: Math.random() }
    const chosen = chooseNode(list?.nodes ?? [], facts)
    const route = { sender_agent_id: mailbox, receiver_agent_id: mailbox, message_type: JOB_CHOICE }
    await this.#send({ ...route, payload: JSON.stringify(chosen), idempotency_key: key }, signal)
    // Another process may have chosen at the same time.
    return (await this.#insist(signal, read)) ?? chosen
  }

  #send(body: DeliverBody & { readonly idempotency_key: string }, signal: AbortSignal): Promise<number> {
    return this.#insist(signal, () => this.#options.client.deliver(body, signal))
  }

  async #answer(reply: string, signal: AbortSignal): Promise<MeshMessage> {
    this.#waiting += 1
    try {
      for (;;) {
        const startedAt = performance.now()
        const found = await this.#insist(signal, () => this.#lookInTurn(reply, signal))
        if (found !== null) return found
        const interval = Math.max(LOOK_MS, LOOK_PER_JOB_MS * this.#waiting)
        await delay(Math.max(0, interval - (performance.now() - startedAt)), undefined, { signal })
      }
    } finally {
      this.#waiting -= 1
    }
  }

  async #lookInTurn(reply: string, signal: AbortSignal): Promise<MeshMessage | null> {
    await this.#calls.acquire(granted => raceAbort(signal, granted))
    try {
      return await this.#look(reply, this.#waiting <= MAX_WAITING_CALLS ? WAIT_MS : 0, signal)
    } finally {
      this.#calls.release()
    }
  }

  /** Returns the first answer in a mailbox, which stays there; null if there is none within `wait_ms`. */
  async #look(reply: string, wait_ms: number, signal: AbortSignal): Promise<MeshMessage | null> {
    const body = { receiver_agent_id: reply, max_messages: MAX_MESSAGES, wait_ms }
    const { messages } = await this.#options.client.inbox(body, signal)
    return messages.findLast(({ message_type: type }) => type === JOB_RESULT || type === JOB_FAIL) ?? null
  }

  /** Repeats a call that has no effect if it is repeated, until the control plane answers it. */
  async #insist<A>(signal: AbortSignal, call: () => Promise<A>): Promise<A> {
    let failure = ''
    for (let failures = 1; ; failures += 1) {
      try {
        return await call()
      } catch (error) {
        if (signal.aborted) throw isTimeout(signal) && failure !== '' ? late('the control plane', failure) : error
        if (!isTransient(error)) throw error
        failure = errorMessage(error)
        this.#options.log.debug('a call for a job is repeated', { failures, reason: failure })
      }
      await delay(pauseMs(RETRY_MS, failures, Math.random()), undefined, { signal }).catch(() => {})
    }
  }

  /** Withdraws a job and notifies its worker. Returns what is known about it. Never rejects. */
  async #cancel(key: string, { body, id: confirmed, node }: SentJob): Promise<string> {
    const { client, log } = this.#options
    const signal = AbortSignal.timeout(CLEAN_TIMEOUT_MS)
    const receiver = body.receiver_agent_id
    try {
      // The same key again returns the id of a job whose delivery was cut off.
      const id = confirmed ?? (await client.deliver(body, signal))
      const { messages } = await client.inbox(
        { receiver_agent_id: receiver, before_message_id: id + 1, max_messages: 1 },
        signal
      )
      const worker = messages.find(message => message.id === id)?.lease_holder_node_id ?? null
      const wasThere = await client.ack(receiver, id, undefined, signal)
      if (worker === null) return `${node === null ? 'no node has' : `the node ${node} has not`} taken the job`
      if (wasThere) await this.#notify(key, worker, receiver, signal)
      return `the node ${worker} has not finished the job`
    } catch (error) {
      log.debug('a job could not be cancelled', { key, reason: errorMessage(error) })
      return `the job could not be cancelled: ${errorMessage(error)}`
    }
  }

  async #notify(key: string, worker: string, receiver: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    const sender = replyTo(key)
    const { list } = await client.nodes(null, signal)
    const record = (list?.nodes ?? []).filter(isNodeRecord).find(({ id }) => id === worker)
    const message = {
      sender_agent_id: sender,
      receiver_agent_id: (record === undefined ? null : inboxOf(record)) ?? receiver,
      message_type: REMOTE_TASK_CANCEL,
      payload: JSON.stringify(cancelOf(jobKey(sender, key), 0, 'the step is no longer wanted')),
      idempotency_key: `cancel-${key}`,
      priority: CANCEL_PRIORITY
    }
    await client.deliver(message, signal)
  }
}

function outcomeOf({ payload }: MeshMessage, control: string): MeshActivityOutcome {
  const checked = checkAnswer(json(payload))
  if (!checked.ok) throw meshNodeErrors.create('MND_PAYLOAD_INVALID', `the result of a job: ${checked.text}`)
  const { success, result: output = '', error = 'it gave no reason', claimer_node_id: node } = checked.value
  if (success) return { control, output, ...(node === undefined ? null : { node_id: node }) }
  const text = `the job failed on ${node === undefined ? 'another node' : `the node ${node}`}: ${error}`
  throw meshNodeErrors.create('MND_PROCESSOR_FAILED', text)
}

function payloadOf({ args, labels, workflow, activity, timeoutMs }: MeshActivityRequest, isLimited: boolean): object {
  const { job: _, ...facts } = args
  const [text] = [facts.task, facts.description, ...Object.values(facts)].filter(each => typeof each === 'string')
  return {
    task_description: text ?? `${activity}(${JSON.stringify(args)})`,
    assigned_agent_id: 0,
    workflow,
    activity,
    labels,
    args,
    ...(isLimited ? { timeout_ms: Math.ceil(timeoutMs) } : null)
  }
}

function late(what: string, why: string): Error {
  return meshNodeErrors.create('MND_JOB_LATE', `${what}: the time limit of the step is over: ${why}`)
}

function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && (reason as Error | undefined)?.name === 'TimeoutError'
}

/** Whether the same call may succeed later. */
function isTransient(error: unknown): boolean {
  if (isHttpStatus(error)) return error.data.status >= 500 || error.data.status === 429
  return isSvcError(error, 'MND_UNREACHABLE') || isSvcError(error, 'MND_TIMEOUT')
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

function shortKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : createHash('sha256').update(key).digest('hex')
}

function replyTo(key: string): string {
  return mailboxOf(`job ${key}`)
}

function choiceOf(key: string): string {
  return mailboxOf(`choice ${key}`)
}
