import type { WorkflowStep } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { LogLine } from '../interpreter/host.ts'
import { ANONYMOUS_TEXT } from '../interpreter/request.ts'
import { timeLimitText } from '../interpreter/time-limit.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import { type Endpoint, isTransaction } from './endpoints.ts'
import type { LoadingThread } from './loading-thread.ts'
import { EFFECT, type EndedCall, type SentFailure, type SentResponse, STATE } from './messages.ts'
import {
  type CallOrigin,
  type LostCall,
  type PendingCall,
  ProgramThread,
  type ThreadEnd,
  type ThreadParts
} from './program-thread-handle.ts'

/** Maximum waiting calls, which limits memory. Further calls get 503. */
const MAX_WAITING = 10_000

/** Microseconds of queued work at which the next call goes to another thread. */
const ENOUGH = 2_000
/** Microseconds of queued work at which a thread is added. */
const TOO_MUCH = 20_000

/** Interval for checking busy threads, in milliseconds. */
const CHECK_INTERVAL_MS = 25

/** Milliseconds after the time limit until a function that does not check the clock is terminated. */
const GRACE_MS = 500

/** Milliseconds that `close` waits for running calls. */
const CLOSE_MS = 500

export interface PoolOptions {
  /** Maximum number of threads. */
  readonly threads: number
  readonly endpoints: readonly Endpoint[]
  /** Name of the program in messages. */
  readonly path: string
  readonly log: Logger
  /** Called with each line of the program, after it was logged. */
  readonly onLine?: (line: LogLine, requestId: string | undefined) => void
  /** Time limit of a call, in milliseconds. */
  readonly timeLimit: number
  /** Called when a thread reports due work. */
  readonly onDue?: () => void
  readonly onStep?: (step: WorkflowStep) => void
  /** Whether `onEnd` receives all calls; default: only the failed, slow and recorded ones. */
  readonly showsCalls?: boolean
  /** Called with the times and statements of a call. */
  readonly onEnd?: (end: EndedCall, call: PendingCall) => void
  /** Called when another change of a workflow run was committed. */
  readonly onRun?: () => void
  /** Called when a step for the mesh was stored. */
  readonly onMeshStep?: () => void
  /** Called when a call failed, with its function. */
  readonly onFailure?: (endpoint: string, failure: SentFailure, requestId: string | undefined) => void
  /** A thread that loads the program. */
  thread(isFirst: boolean): Promise<LoadingThread>
  /** Returns the handlers of a thread's bridge; the signal is aborted when the thread has ended. */
  answers(signal: AbortSignal): BridgeAnswers
}

/**
 * Receives the HTTP status and the JSON body of a response, and the number of SQL statements of the call: null if its
 * thread was lost. `response`: the `Response` of a route, which replaces the body.
 */
export type Respond = (status: number, body: string, sql?: number | null, response?: SentResponse) => void

/**
 * Distributes the calls of one program over threads. A call that waits behind a long one moves to another thread.
 * Writers share one thread, so that they rarely wait for the database lock. A lost thread is replaced, and only its
 * running call fails.
 */
export class ProgramPool {
  readonly #options: PoolOptions
  readonly #threads: ProgramThread[] = []
  /** Threads that are still loading the program. */
  readonly #loading = new Set<ProgramThread>()
  readonly #adding = new Set<Promise<void>>()
  /** Calls that no thread has accepted yet. */
  #waiting: PendingCall[] = []
  #isFlushing = false
  #watch: NodeJS.Timeout | null = null
  #starting = 0
  #isClosed = false
  #whenIdle: (() => void) | null = null

  private constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Opens a pool with one thread that has loaded the program. Throws if the program cannot be loaded. */
  static async open(options: PoolOptions): Promise<ProgramPool> {
    const pool = new ProgramPool(options)
    await pool.#add()
    return pool
  }

  /** Number of threads, for the health of the plugin. */
  get size(): number {
    return this.#threads.length
  }

  /**
   * Calls an endpoint by its index. Responds exactly once, even if the thread is lost. `origin`: its request. `caller`:
   * as text; default: an anonymous one.
   */
  call(endpoint: number, input: string, answer: Respond, origin?: CallOrigin, caller = ANONYMOUS_TEXT): void {
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) {
      const busy = runErrors.create('RUN_BUSY', `${this.#options.path}: too many calls wait for a thread`)
      answer(busy.status, JSON.stringify({ error: 'too many calls wait', code: busy.code }), 0)
      return
    }
    this.#waiting.push({ endpoint, input, answer, origin, caller, since: performance.now() })
    if (this.#isFlushing) return
    this.#isFlushing = true
    // Requests of the same tick are sent in one message.
    setImmediate(this.#flush)
  }

  /** Like {@link call}, but returns a promise. */
  async ask(
    endpoint: number,
    input: string,
    caller = ANONYMOUS_TEXT
  ): Promise<{ readonly status: number; readonly body: string }> {
    return new Promise(resolve => {
      this.call(endpoint, input, (status, body) => resolve({ status, body }), undefined, caller)
    })
  }

  /** Adds a thread, unless the maximum is reached. */
  async grow(): Promise<void> {
    if (this.#isClosed || this.#threads.length + this.#starting >= this.#options.threads) return
    this.#starting++
    const adding = this.#add()
    this.#adding.add(adding)
    try {
      await adding
    } finally {
      this.#adding.delete(adding)
      this.#starting--
    }
    this.#flush()
  }

  /** Waits briefly for running calls, and ends the threads. */
  async close(): Promise<void> {
    if (this.#isBusy) {
      await new Promise<void>(resolve => {
        this.#whenIdle = resolve
        setTimeout(resolve, CLOSE_MS).unref()
      })
    }
    this.#isClosed = true
    if (this.#watch !== null) clearInterval(this.#watch)
    await Promise.all([...this.#threads, ...this.#loading].map(thread => thread.end()))
    await Promise.allSettled(this.#adding)
  }

  async #add(): Promise<void> {
    const { thread: threadOf, answers, log, path, showsCalls = false } = this.#options
    const parts: ThreadParts = {
      showsCalls,
      loading: await threadOf(this.#threads.length === 0 && this.#starting === 0),
      answers,
      report: (error, kind) =>
        log.error(`${kind} failed for ${path}`, { error, ...requestFields(thread.running?.origin?.requestId) })
    }
    const thread = new ProgramThread(parts, {
      ended: end => this.#replace(thread, end),
      answered: () => this.#onAnswered(),
      callEnded: (end, call) => this.#options.onEnd?.(end, call),
      failed: (endpoint, failure, requestId) => this.#logFailure(endpoint, failure, requestId),
      log: (line, requestId) => {
        const { level, text, fields } = line
        log[level](text, { ...fields, ...requestFields(requestId) })
        this.#options.onLine?.(line, requestId)
      },
      due: () => this.#options.onDue?.(),
      stepped: step => this.#options.onStep?.(step),
      runChanged: () => this.#options.onRun?.(),
      meshStep: () => this.#options.onMeshStep?.()
    })
    this.#loading.add(thread)
    try {
      if (!this.#isClosed) await thread.loaded
    } catch (error) {
      await thread.end()
      // The pool was closed while the thread loaded.
      if (this.#isClosed) return
      throw error
    } finally {
      this.#loading.delete(thread)
    }
    if (this.#isClosed) await thread.end()
    else this.#threads.push(thread)
  }

  readonly #flush = (): void => {
    this.#isFlushing = false
    const left: PendingCall[] = []
    for (const call of this.#waiting) if (!this.#threadFor(call)?.give(call)) left.push(call)
    this.#waiting = left
    for (const thread of this.#threads) thread.send()
    // `grow` may flush after the pool was closed.
    if (!this.#isClosed) this.#watch ??= setInterval(this.#check, CHECK_INTERVAL_MS).unref()
  }

  #threadFor(call: PendingCall): ProgramThread | undefined {
    if (this.#threads.length === 1) return this.#threads[0]?.isStuck ? undefined : this.#threads[0]
    if (this.#isWriter(call)) {
      const writer = this.#threads.find(thread => thread.has(each => this.#isWriter(each)))
      if (writer !== undefined) return writer
    }
    let best: ProgramThread | undefined
    // Prefers busy threads: waking up an idle thread for each call is slower.
    for (const thread of this.#threads) {
      if (thread.isFull || thread.isStuck) continue
      if (thread.backlog < ENOUGH) return thread
      if (best === undefined || thread.backlog < best.backlog) best = thread
    }
    return best
  }

  #onAnswered(): void {
    if (this.#waiting.length > 0) this.#flush()
    if (this.#whenIdle !== null && !this.#isBusy) this.#whenIdle()
  }

  get #isBusy(): boolean {
    return this.#waiting.length > 0 || this.#threads.some(thread => thread.pending > 0)
  }

  readonly #check = (): void => {
    const { timeLimit, path } = this.#options
    let isBusy = this.#waiting.length > 0
    let wantsMore = isBusy
    for (const thread of this.#threads) {
      if (thread.pending === 0) continue
      isBusy = true
      const stuckFor = thread.stuckFor()
      if (stuckFor > timeLimit + GRACE_MS) {
        const message = `${path}: a function ran longer than ${timeLimitText(timeLimit)}`
        thread.kill(runErrors.create('RUN_TIME_LIMIT', message, { hint: 'raise the setting time_limit_ms' }))
        continue
      }
      if (stuckFor > 0) this.#waiting.push(...this.#behind(thread))
      wantsMore ||= stuckFor > 0 || thread.backlog > TOO_MUCH
    }
    if (this.#waiting.length > 0) this.#flush()
    if (wantsMore) this.grow().catch((error: unknown) => this.#options.log.error('a thread did not start', { error }))
    if (isBusy || this.#watch === null) return
    clearInterval(this.#watch)
    this.#watch = null
  }

  /** Withdraws the calls behind a long one. Writers behind a writer stay: they would wait for its lock anyway. */
  #behind(thread: ProgramThread): PendingCall[] {
    const { running } = thread
    const isWriting = running !== null && this.#isWriter(running)
    return thread.takeBack(call => !isWriting || !this.#isWriter(call))
  }

  #isWriter({ endpoint }: PendingCall): boolean {
    const kind = this.#options.endpoints[endpoint]?.kind
    return kind !== undefined && isTransaction(kind)
  }

  /** Replaces a lost thread. Its repeatable calls run again, and the others get an error. */
  #replace(thread: ProgramThread, { calls, cause }: ThreadEnd): void {
    const at = this.#threads.indexOf(thread)
    if (at >= 0) this.#threads.splice(at, 1)
    const { endpoints, log, path } = this.#options
    for (const lost of calls) {
      const { kind, name } = endpoints[lost.call.endpoint] as Endpoint
      if (mayRepeat(lost, kind)) {
        this.#waiting.push(lost.call)
        continue
      }
      if (lost.state === STATE.RUNNING) {
        const requestId = lost.call.origin?.requestId
        log.error('a function was stopped', {
          program: path,
          function: `${kind} ${name}`,
          error: cause,
          ...requestFields(requestId)
        })
        const { code, message } = cause
        this.#options.onFailure?.(`${kind} ${name}`, { code, message, calls: [] }, requestId)
      }
      answerLost(lost, kind, cause)
    }
    this.#onAnswered()
    if (this.#isClosed || at < 0) return
    this.grow().catch((error: unknown) => log.error('a thread did not start', { error }))
  }

  #logFailure(endpoint: string, failure: SentFailure, requestId: string | undefined): void {
    const { code, message, calls } = failure
    this.#options.onFailure?.(endpoint, failure, requestId)
    this.#options.log.warn(`${endpoint}: ${message}`, { code, calls, ...requestFields(requestId) })
  }
}

function requestFields(requestId: string | undefined): Record<string, string> {
  return requestId === undefined ? {} : { request_id: requestId }
}

/** True if a call left no trace, so that it can run again. Not a running call: it may have ended the thread. */
function mayRepeat({ state, effects }: LostCall, kind: Endpoint['kind']): boolean {
  if (state === STATE.POSTED) return true
  if (isTransaction(kind)) {
    const isUndone = state === STATE.HELD || state === STATE.ROLLED_BACK
    return isUndone && (effects & EFFECT.OUTSIDE) === 0
  }
  return state === STATE.DONE && effects === 0 && kind !== 'due'
}

interface Outcome {
  /** Whether the changes of the database are stored; null if unknown. */
  readonly isCommitted: boolean | null
  readonly text: string
}

/** Describes the outcome of a lost call to its caller. Only a mutation is a transaction as a whole. */
function outcomeOf({ state, effects }: LostCall, kind: Endpoint['kind']): Outcome {
  if (state === STATE.COMMITTING || state === STATE.UNCERTAIN)
    return { isCommitted: null, text: 'it is unknown whether its changes are stored' }
  if (state === STATE.COMMITTED || state === STATE.DONE)
    return { isCommitted: true, text: 'it completed, but its result is lost' }
  const isStored = !isTransaction(kind) && (effects & EFFECT.STORED) !== 0
  const isOutside = (effects & EFFECT.OUTSIDE) !== 0
  if (!isStored && !isOutside) return { isCommitted: false, text: 'it had no effect' }
  const parts = [
    ...(isStored ? ['its changes may have been stored'] : []),
    ...(isTransaction(kind) ? ['its database changes were rolled back'] : []),
    ...(isOutside ? ['its HTTP requests, processes and files cannot be undone'] : [])
  ]
  return { isCommitted: isStored ? null : false, text: parts.join(', but ') }
}

function answerLost(lost: LostCall, kind: Endpoint['kind'], { code, status, message }: ThreadEnd['cause']): void {
  const { isCommitted, text } = outcomeOf(lost, kind)
  const reason =
    code === 'RUN_TIME_LIMIT' || code === 'RUN_MEMORY_LIMIT'
      ? message.replace(/^.*?: /, '')
      : 'the thread of the function ended'
  const body = JSON.stringify({ error: `${reason}; ${text}`, code, committed: isCommitted })
  lost.call.answer(status === 504 ? 504 : 500, body, null)
}
