import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Coordination,
  coordinationErrors,
  type ForeignTask,
  type KernelPort,
  orchestrationErrors,
  processLabel,
  SEAT_SURFACE,
  type StoredItem,
  TASK_VERBS,
  type TaskVerb,
  type TaskVerbArguments,
  taskLabel,
  type VerbCaller
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, type Logger, type Principal, SvcError } from '@svc/plugin-sdk'
import type { OtherSeats, SeatProcess } from '../durable/other-seats.ts'

/** Time in milliseconds within which the holder has to begin with a verb. */
const BEGIN_MS = 5_000
/** Interval in milliseconds of the caller's looks for the result. */
const LOOK_MS = 100
/** Interval in milliseconds of the holder's looks for verbs. */
const CLAIM_MS = 250
/** Interval in milliseconds of the looks for other processes. */
const SEATS_MS = 1_000
const LEASE_MS = 15_000
/** Verbs that run at the same time. */
const MAX_RUNNING = 8
/** Maximum size of a verb or its result in bytes of UTF-8. */
const MAX_BYTES = 1024 * 1024
/** Interval in milliseconds of attempts after an error of the store. */
const RETRY_MS = 2_000
const NOTHING_CHANGED = 'nothing changed'
const MAYBE_CHANGED = 'the request may have been carried out'
const MAX_SCOPES = 256
const MAX_NAME = 1_024

export interface SeatVerbsOptions {
  readonly repositoryId: string
  /** Returns the other seats of the serving state; null without a database. */
  readonly others: () => OtherSeats | null
  /** Null if no plugin provides a store: verbs of this process are refused, and those of others do not arrive. */
  readonly store: Coordination | null
  readonly kernel: Pick<KernelPort, 'invoke'>
  readonly log: Pick<Logger, 'warn'>
}

/** Body of an item in the queue of a seat. */
interface VerbMessage {
  readonly verb: TaskVerb
  readonly task_id: number
  readonly args: TaskVerbArguments
  readonly principal: Principal
  readonly request_id: string
  /** The holder does not begin after this time of the store, in Unix milliseconds. */
  readonly begin_until_ms: number
}

/** Result of an item. */
type VerbResult =
  | { readonly output: unknown }
  | { readonly error: { code: string; message: string; status: number; hint?: string | undefined; data?: unknown } }

/**
 * Verbs on tasks of other processes on the same database. Each seat has a queue in the coordination store: the caller
 * puts a verb, and the holder of the seat runs its operation, with the caller's principal, and acknowledges it with the
 * result. A verb runs at most once.
 */
export class SeatVerbs {
  readonly #options: SeatVerbsOptions
  readonly #running = new Map<number, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | null = null
  #hasOthers = false
  #seatsAt = 0
  #retryAt = 0
  #isFailing = false

  constructor(options: SeatVerbsOptions) {
    this.#options = options
  }

  /** Begins to run verbs of other processes. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#tick(), CLAIM_MS).unref()
  }

  /** Claims no more verbs. Resolves when the running ones have ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#looking
    await Promise.all(this.#running.values())
  }

  /**
   * Has the holder of a task run a verb, and returns the output of its operation. Throws the error of the operation, and
   * `ORC_ELSEWHERE` if the holder does not begin within 5 s, or ends before the result.
   */
  async send(task: ForeignTask, verb: TaskVerb, args: TaskVerbArguments, caller: VerbCaller): Promise<unknown> {
    const { store } = this.#options
    const { seat } = task.process
    if (store === null || seat === null)
      throw elsewhere(task, 'requests are not passed on: no plugin provides a coordination store', NOTHING_CHANGED)
    const owner = (await this.#holderOf(task))?.owner
    if (owner === undefined || owner === null) throw elsewhere(task, 'it has ended', NOTHING_CHANGED)
    const queue = seatQueue(this.#options.repositoryId, seat, owner)
    const key = randomUUID()
    const { principal, requestId, signal } = caller
    const message: VerbMessage = {
      verb,
      task_id: task.id,
      args,
      principal: { id: principal.id, role: principal.role, scopes: principal.scopes },
      request_id: requestId,
      begin_until_ms: (await store.now()) + BEGIN_MS
    }
    const body = JSON.stringify(message)
    if (Buffer.byteLength(body) > MAX_BYTES)
      throw coordinationErrors.create(
        'CRD_TOO_LARGE',
        `the request for task ${taskLabel(task.id)} of another process is larger than ${MAX_BYTES} bytes`,
        { hint: `run the command in process ${processLabel(task.process)}` }
      )
    signal.throwIfAborted()
    const [item] = await store.put([{ queue, key, body, maxAttempts: 1 }])
    const id = (item as { readonly id: number }).id
    const result = await this.#await(store, { queue, key, id, body }, task, signal)
    if ('output' in result) return result.output
    const { code, message: text, ...details } = result.error
    throw new SvcError(code, text, defined(details))
  }

  async #await(
    store: Coordination,
    { queue, key, id, body }: { readonly queue: string; readonly key: string; readonly id: number; body: string },
    task: ForeignTask,
    signal: AbortSignal
  ): Promise<VerbResult> {
    const since = performance.now()
    for (;;) {
      const [item] = await store.read(queue, [id])
      if (item === undefined) break
      if (item.attempts === 0 && (signal.aborted || performance.now() - since >= BEGIN_MS)) {
        const withdrawn = await store.withdraw(queue, id)
        if (withdrawn === 'gone') break
        signal.throwIfAborted()
        // The holder may have claimed it since it was read.
        const effect = withdrawn === 'taken' ? NOTHING_CHANGED : MAYBE_CHANGED
        throw elsewhere(task, `it did not respond within ${BEGIN_MS / 1_000} s`, effect)
      }
      if (item.attempts > 0 && !(await this.#isRunning(store, item, task))) {
        // The holder may have stored the result since it was read.
        if ((await store.withdraw(queue, id)) === 'gone') break
        throw elsewhere(task, 'it stopped while it carried out the request', MAYBE_CHANGED)
      }
      // A verb that runs is not withdrawn: its effect cannot be undone.
      signal.throwIfAborted()
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    const [done] = await store.put([{ queue, key, body, maxAttempts: 1 }])
    if (done?.result !== undefined) return JSON.parse(done.result) as VerbResult
    throw elsewhere(task, 'it ended while it carried out the request', MAYBE_CHANGED)
  }

  /** Returns false if the holder has ended, or its lease of the verb has expired. */
  async #isRunning(store: Coordination, { state, visibleAt }: StoredItem, task: ForeignTask): Promise<boolean> {
    if (state !== 'leased' || visibleAt < (await store.now())) return false
    return (await this.#holderOf(task)) !== undefined
  }

  /** Returns the process that holds a task; undefined if it has ended. */
  async #holderOf({ process }: ForeignTask): Promise<SeatProcess | undefined> {
    const seats = (await this.#options.others()?.processes()) ?? []
    return seats.find(({ seat, pid, alive }) => seat === process.seat && pid === process.pid && alive)
  }

  async #tick(): Promise<void> {
    if (this.#looking !== null || performance.now() < this.#retryAt) return
    this.#looking = this.#look()
      .then(() => {
        this.#isFailing = false
      })
      .catch(error => {
        this.#retryAt = performance.now() + RETRY_MS
        if (!this.#isFailing) this.#options.log.warn('requests of other processes cannot be read', { error })
        this.#isFailing = true
      })
      .finally(() => {
        this.#looking = null
      })
    await this.#looking
  }

  /** Claims the verbs in the queue of this process's seat, if another process lives. */
  async #look(): Promise<void> {
    const { others, store, repositoryId } = this.#options
    const seats = others()
    if (seats === null || store === null) return
    if (performance.now() - this.#seatsAt >= SEATS_MS) {
      this.#hasOthers = (await seats.processes()).some(({ alive }) => alive)
      this.#seatsAt = performance.now()
    }
    const free = MAX_RUNNING - this.#running.size
    if (!this.#hasOthers || free === 0) return
    const queue = seatQueue(repositoryId, seats.own, seats.owner)
    // A claim writes, so look first.
    if ((await store.look(queue, { limit: 1 })).length === 0) return
    const now = await store.now()
    for (const { id, fence, body } of await store.claim(queue, seats.owner, { max: free, leaseMs: LEASE_MS })) {
      const run = this.#run(store, { id, fence }, body, now).finally(() => this.#running.delete(id))
      this.#running.set(id, run)
    }
  }

  /** Runs a claimed verb, and acknowledges it with its result. Does not throw. */
  async #run(store: Coordination, token: { id: number; fence: number }, body: string, now: number): Promise<void> {
    const renewal = setInterval(() => {
      // A failed extension has no effect: the caller notices the end of the lease.
      store.extend([token], LEASE_MS).catch(() => {})
    }, LEASE_MS / 3)
    try {
      // Withdrawn verbs are not begun.
      const [isHeld] = await store.extend([token], LEASE_MS)
      if (isHeld !== true) return
      const text = JSON.stringify(await this.#invoke(body, now))
      const result = Buffer.byteLength(text) <= MAX_BYTES ? text : JSON.stringify(TOO_LARGE)
      await store.ack([{ ...token, result }])
    } catch (error) {
      this.#options.log.warn('the result of a request of another process could not be stored', { error })
    } finally {
      clearInterval(renewal)
    }
  }

  async #invoke(body: string, now: number): Promise<VerbResult> {
    const message = parseMessage(body)
    if (typeof message === 'string') return refusal('CRD_VALUE_INVALID', `the request is invalid: ${message}`, 400)
    const { verb, task_id, args, principal, request_id, begin_until_ms } = message
    if (now > begin_until_ms)
      return refusal('ORC_ELSEWHERE', `Task ${taskLabel(task_id)}: the request is too old and was not carried out`, 503)
    try {
      const output = await this.#options.kernel.invoke(
        TASK_VERBS[verb],
        { ...args, task_id },
        { surface: SEAT_SURFACE, principal, requestId: request_id }
      )
      return { output: output ?? null }
    } catch (error) {
      if (!isSvcError(error)) return refusal('OPR_FAILED', errorMessage(error), 500)
      const { code, message, status, hint, data } = error
      return { error: { code, message, status, hint, data } }
    }
  }
}

const TOO_LARGE = refusal(
  'CRD_TOO_LARGE',
  `the result is larger than ${MAX_BYTES} bytes; the request was carried out`,
  413
)

function refusal(code: string, message: string, status: number): VerbResult {
  return { error: { code, message, status } }
}

/**
 * Returns the queue of a seat. It contains the owner: hosts with separate databases may share a coordination store, and
 * another process may have had the seat before.
 */
function seatQueue(repositoryId: string, seat: number, owner: string): string {
  return `seat:${repositoryId}:${seat}:${owner}`
}

function elsewhere({ id, process }: ForeignTask, problem: string, effect: string): SvcError {
  const { host, pid, seat } = process
  return orchestrationErrors.create(
    'ORC_ELSEWHERE',
    `Task ${taskLabel(id)} is held by process ${processLabel(process)}: ${problem}; ${effect}`,
    {
      data: { task_id: id, host, pid, seat },
      hint: `look at the task with svc orch show ${id}, and run the command in that process or try again`
    }
  )
}

/** Returns the message of an item, or why it is invalid. Any program with access to the database can write it. */
export function parseMessage(body: string): VerbMessage | string {
  if (body.length > MAX_BYTES) return `it is larger than ${MAX_BYTES} bytes`
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return 'it is not JSON'
  }
  if (!isObject(value)) return 'it is not an object'
  const { verb, task_id, args, principal, request_id, begin_until_ms } = value
  if (typeof verb !== 'string' || !Object.hasOwn(TASK_VERBS, verb)) return 'the verb is unknown'
  if (!Number.isSafeInteger(task_id) || (task_id as number) < 1) return 'task_id is not the id of a task'
  if (!isObject(args)) return 'args is not an object'
  if (!isPrincipal(principal)) return 'principal is not a caller'
  if (!isName(request_id)) return 'request_id is not a text'
  if (!Number.isSafeInteger(begin_until_ms)) return 'begin_until_ms is not a time'
  return value as unknown as VerbMessage
}

function isPrincipal(value: unknown): value is Principal {
  if (!isObject(value) || !isName(value.id) || !isName(value.role) || !Array.isArray(value.scopes)) return false
  return value.scopes.length <= MAX_SCOPES && value.scopes.every(isName)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
