import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ForeignTask,
  type KernelPort,
  type MeshMessage,
  type Orchestrator,
  orchestrationErrors,
  processLabel,
  SEAT_SURFACE,
  TASK_VERB,
  TASK_VERB_RESULT,
  TASK_VERBS,
  type TaskVerb,
  type TaskVerbArguments,
  taskLabel,
  type VerbCaller
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, type Logger, SvcError, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import type { MeshClient } from './client.ts'
import type { StepResult } from './loop.ts'
import { nodeMailbox, randomMailbox } from './mailboxes.ts'
import type { Worker } from './worker.ts'

/** Milliseconds in which the process of a task must answer. */
const ANSWER_MS = 5_000
/** Age in milliseconds of a request that is no longer carried out. */
const MAX_AGE_MS = 10_000
/** Interval in milliseconds of looks for an answer. */
const LOOK_MS = 100
/** Milliseconds that the control plane may wait for a request before it answers. */
const WAIT_MS = 25_000
const MAX_RUNNING = 8
/** Maximum characters of an answer, so that it fits into a body of the control plane. */
const MAX_ANSWER_CHARS = 200_000
/** Reads the task instead of changing it. */
const LOOK = 'look'

const request = t.object({
  verb: t.enum([...(Object.keys(TASK_VERBS) as TaskVerb[]), LOOK]),
  task_id: t.integer({ minimum: 0 }),
  args: t.object({}, { additionalProperties: true }),
  principal: t.object({
    id: t.string({ maxLength: 1_024 }),
    role: t.string({ maxLength: 1_024 }),
    scopes: t.array(t.string({ maxLength: 1_024 }), { maxItems: 256 })
  }),
  request_id: t.string({ maxLength: 1_024 })
})
const answer = t.object(
  {
    output: t.optional(t.unknown()),
    error: t.optional(
      t.object(
        {
          code: t.string({ pattern: '^[A-Z][A-Z0-9_]{2,64}$' }),
          message: t.string(),
          status: t.integer({ minimum: 400, maximum: 599 }),
          hint: t.optional(t.string())
        },
        { additionalProperties: true }
      )
    )
  },
  { additionalProperties: true }
)
const checkRequest = schemaCheck(request)
const checkAnswer = schemaCheck(answer)

export interface RemoteVerbsOptions {
  readonly client: MeshClient
  readonly orchestrator: Pick<Orchestrator, 'task'>
  readonly kernel: Pick<KernelPort, 'invoke'>
  /** Id of this node. */
  readonly node: () => string
  /** Whether other hosts may read tasks of this process. */
  readonly publishes: boolean
  /** Whether other hosts may change tasks of this process. */
  readonly accepts: boolean
  /** Handles a message that is no verb: work for this node. Null: this node runs none. */
  readonly work: () => Pick<Worker, 'take'> | null
  readonly log: Logger
}

/** Verbs on tasks of other hosts: a message to the mailbox of the holder's process, and one with the answer. */
export class RemoteVerbs {
  readonly #options: RemoteVerbsOptions
  readonly #running = new Set<Promise<void>>()

  constructor(options: RemoteVerbsOptions) {
    this.#options = options
  }

  /** Address of this process. */
  get mailbox(): string {
    return nodeMailbox(this.#options.node())
  }

  /**
   * Has the holder of a task run a verb, and returns the output of its operation. Throws the holder's error, and
   * `ORC_ELSEWHERE` if it does not answer within 5 s. `mailbox`: null if the process no longer publishes its tasks.
   */
  async send(
    task: ForeignTask,
    mailbox: string | null,
    verb: TaskVerb,
    args: TaskVerbArguments,
    { principal, requestId, signal }: VerbCaller
  ): Promise<unknown> {
    if (mailbox === null) throw elsewhere(task, 'it no longer publishes its tasks; nothing changed')
    const { id, role, scopes } = principal
    const body = { verb, task_id: task.id, args, principal: { id, role, scopes }, request_id: requestId }
    const result = await this.#ask(mailbox, body, ANSWER_MS, signal)
    if (result === 'withdrawn')
      throw elsewhere(task, `it did not respond within ${ANSWER_MS / 1_000} s; nothing changed`)
    if (result === 'unknown') throw elsewhere(task, 'it did not answer; the request may have been carried out')
    const { error, output } = result
    if (error === undefined) return output
    const { code, message, status, hint } = error
    throw new SvcError(code, message, defined({ status, hint }))
  }

  /** Returns a task with its whole texts; null if its process does not have it or does not answer in time. */
  async look(task: number, mailbox: string, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const principal = { id: 'mesh', role: 'mesh', scopes: [] }
    const body = { verb: LOOK, task_id: task, args: {}, principal, request_id: randomUUID() }
    const result = await this.#ask(mailbox, body, timeoutMs, signal)
    return typeof result === 'object' ? (result.output ?? null) : null
  }

  /** Receives one request, and runs it in the background. */
  async step(signal: AbortSignal): Promise<StepResult> {
    if (this.#running.size >= MAX_RUNNING) await Promise.race(this.#running)
    const { client, node } = this.#options
    const startedAt = performance.now()
    const { messages, serverMs } = await client.inbox(
      { receiver_agent_id: this.mailbox, claimer_node_id: node(), wait_ms: WAIT_MS, own: false },
      signal
    )
    const [message] = messages
    const work = this.#options.work()
    if (message !== undefined && message.message_type !== TASK_VERB && work !== null) {
      await work.take(message, serverMs, signal)
      return 'again'
    }
    if (message === undefined) return performance.now() - startedAt >= WAIT_MS / 2 ? 'again' : 'pause'
    const run: Promise<void> = this.#run(message, serverMs, signal).finally(() => this.#running.delete(run))
    this.#running.add(run)
    return 'again'
  }

  /** Resolves when running requests have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Sends a request and waits for its answer. `withdrawn`: no process had received it; `unknown`: one had. */
  async #ask(mailbox: string, body: object, timeoutMs: number, signal: AbortSignal) {
    const { client } = this.#options
    const reply = randomMailbox()
    const key = randomUUID()
    const id = await client.deliver(
      {
        sender_agent_id: reply,
        receiver_agent_id: mailbox,
        message_type: TASK_VERB,
        payload: JSON.stringify(body),
        idempotency_key: key,
        correlation_id: key,
        max_attempts: 1
      },
      signal
    )
    const until = performance.now() + timeoutMs
    while (performance.now() < until && !signal.aborted) {
      const { messages } = await client.inbox({ receiver_agent_id: reply, wait_ms: LOOK_MS * 5 }, signal)
      const found = messages.find(({ message_type }) => message_type === TASK_VERB_RESULT)
      if (found !== undefined) {
        await client.ack(reply, found.id, undefined, signal).catch(() => {})
        return readAnswer(found)
      }
      await delay(LOOK_MS, undefined, { signal }).catch(() => {})
    }
    const { messages } = await client.inbox({ receiver_agent_id: mailbox, max_messages: 256 })
    const waiting = messages.find(each => each.id === id)
    const wasThere = await client.ack(mailbox, id)
    signal.throwIfAborted()
    return wasThere && waiting?.lease_holder_node_id === undefined && (waiting?.attempts ?? 0) === 0
      ? 'withdrawn'
      : 'unknown'
  }

  async #run(message: MeshMessage, serverMs: number | null, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    try {
      const payload = JSON.stringify(await this.#answer(message, (serverMs ?? 0) - message.created_unix_ms, signal))
      const fits = payload.length <= MAX_ANSWER_CHARS ? payload : JSON.stringify(TOO_LARGE)
      const route = { sender_agent_id: this.mailbox, receiver_agent_id: message.sender_agent_id }
      const key = `verb-result-${message.id}`
      await client.deliver({ ...route, message_type: TASK_VERB_RESULT, payload: fits, idempotency_key: key }, signal)
      await client.ack(this.mailbox, message.id, message.fence, signal)
    } catch (error) {
      if (!signal.aborted) log.warn('a request of another host was not answered', { reason: errorMessage(error) })
    }
  }

  async #answer({ payload }: MeshMessage, ageMs: number, signal: AbortSignal): Promise<object> {
    const { kernel, orchestrator, publishes, accepts } = this.#options
    const checked = checkRequest(parse(payload))
    if (!checked.ok) return refusal('MND_PAYLOAD_INVALID', `the request is invalid: ${checked.text}`, 400)
    const { verb, task_id, args, principal, request_id } = checked.value
    if (verb === LOOK) return { output: publishes ? orchestrator.task(task_id) : null }
    // Its caller has stopped waiting, and would be surprised by the effect.
    if (ageMs > MAX_AGE_MS) {
      const text = `Task ${taskLabel(task_id)}: the request is too old and was not carried out`
      return refusal('ORC_ELSEWHERE', text, 503)
    }
    if (!accepts) {
      const text = `Task ${taskLabel(task_id)} is held by a host that accepts no requests (plugins.mesh-node.accept_verbs)`
      return refusal('ORC_ELSEWHERE', text, 503)
    }
    try {
      const output = await kernel.invoke(
        TASK_VERBS[verb as TaskVerb],
        { ...args, task_id },
        {
          surface: SEAT_SURFACE,
          principal: { ...principal, id: `mesh:${principal.id}` },
          requestId: request_id,
          signal
        }
      )
      return { output: output ?? null }
    } catch (error) {
      if (!isSvcError(error)) return refusal('OPR_FAILED', errorMessage(error), 500)
      return { error: defined({ code: error.code, message: error.message, status: error.status, hint: error.hint }) }
    }
  }
}

const TOO_LARGE = refusal('OPR_FAILED', 'the answer of the other host is too large; the request was carried out', 500)

function refusal(code: string, message: string, status: number) {
  return { error: { code, message, status } }
}

function readAnswer({ payload }: MeshMessage) {
  const checked = checkAnswer(parse(payload))
  return checked.ok ? checked.value : 'unknown'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function elsewhere({ id, process }: ForeignTask, problem: string): SvcError {
  const { host, pid, seat } = process
  return orchestrationErrors.create(
    'ORC_ELSEWHERE',
    `Task ${taskLabel(id)} is held by process ${processLabel(process)}: ${problem}`,
    { data: { task_id: id, host, pid, seat }, hint: 'run the command on that host, or try again' }
  )
}
