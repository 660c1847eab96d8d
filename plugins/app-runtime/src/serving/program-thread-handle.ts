import type { WorkflowStep } from '@svc/contracts'
import type { SvcError, TraceContext } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { LogLine } from '../interpreter/host.ts'
import { answerBridge, type BridgeAnswers } from '../threads/bridge.ts'
import { OutputGate } from '../threads/output-gate.ts'
import type { ProgramWorker } from '../threads/program-worker.ts'
import type { LoadingThread } from './loading-thread.ts'
import {
  type Answers,
  type EndedCall,
  type FromThread,
  PROGRESS,
  REPORT,
  type SentFailure,
  type SentResponse,
  SLOTS,
  STATE
} from './messages.ts'
import type { Respond } from './program-pool.ts'

/** Maximum calls sent to a thread, where more would only wait. */
const MAX_PENDING = 128

/** Request that a call belongs to. */
export interface CallOrigin {
  readonly requestId: string
  /** Span of the request. */
  readonly trace?: TraceContext
}

export interface PendingCall {
  readonly endpoint: number
  readonly input: string
  /** Text form of the caller, as in `callerText`. */
  readonly caller: string
  readonly answer: Respond
  /** The HTTP request; undefined for a schedule, a tool or a stream. */
  readonly origin: CallOrigin | undefined
  readonly since: number
}

export interface ThreadParts {
  readonly loading: LoadingThread
  /** Returns the handlers of the bridge; the signal is aborted when the thread has ended. */
  answers(signal: AbortSignal): BridgeAnswers
  readonly report: (error: unknown, kind: string) => void
  /** Whether the ends of all calls are reported; default: only those of failed, slow and recorded ones. */
  readonly showsCalls?: boolean
}

/** A call whose thread ended before it responded. */
export interface LostCall {
  readonly call: PendingCall
  /** State when the thread ended, of {@link STATE}. */
  readonly state: number
  /** Effects that no rollback undoes, as bits of {@link EFFECT}. */
  readonly effects: number
}

/** Report about a lost thread. */
export interface ThreadEnd {
  readonly cause: SvcError
  readonly calls: readonly LostCall[]
}

export interface ThreadListener {
  /** Called once, unless the thread was ended by {@link ProgramThread.end}. */
  ended(end: ThreadEnd): void
  answered(): void
  /** Receives the times and statements of a failed, slow, recorded or shown call. */
  callEnded(end: EndedCall, call: PendingCall): void
  failed(endpoint: string, failure: SentFailure, requestId: string | undefined): void
  log(line: LogLine, requestId: string | undefined): void
  /** Called when a workflow run or a message became due. */
  due(): void
  /** Called when a step of a workflow run was committed. */
  stepped(step: WorkflowStep): void
  /** Called when a step for the mesh was stored. */
  meshStep(): void
  /** Called when another change of a workflow run was committed. */
  runChanged(): void
}

/** Handle of a program's thread in the main thread. */
export class ProgramThread {
  /** Rejects if the program cannot be loaded. */
  readonly loaded: Promise<void>
  readonly #worker: ProgramWorker
  readonly #listener: ThreadListener
  readonly #progress: Int32Array
  readonly #costs: Int32Array
  readonly #gate: OutputGate
  /** Report of calls that are not recorded. */
  readonly #unrecorded: number
  readonly #calls: (PendingCall | null)[] = new Array(SLOTS).fill(null)
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, index) => SLOTS - 1 - index)
  readonly #bridge = new AbortController()
  #outgoing: (number | string)[] = []
  #pending = 0
  #backlog = 0
  #turns = 0
  #turnsSince = 0
  #isStuck = false
  #cause: SvcError | null = null
  #isOver = false

  constructor({ loading, answers, report, showsCalls = false }: ThreadParts, listener: ThreadListener) {
    const { worker, load, progress, costs, bridge } = loading
    this.#worker = worker
    this.#listener = listener
    this.#progress = progress
    this.#gate = new OutputGate(progress, PROGRESS.UNWRITTEN)
    this.#costs = costs
    this.#unrecorded = showsCalls ? REPORT.SHOWN : REPORT.NO
    answerBridge(bridge, this.#bridge.signal, answers(this.#bridge.signal), report)
    worker.on('message', (message: FromThread) => {
      if (!('kind' in message)) this.#take(message)
      else if (message.kind !== 'loaded' && message.kind !== 'refused') this.#report(message)
    })
    worker.once('error', (error: Error & { readonly code?: string }) => {
      this.#cause ??= endOf(load.program.path, load.limits.bytes, error)
    })
    worker.once('exit', () => {
      this.#cause ??= runErrors.create('RUN_CRASHED', `${load.program.path}: the thread of the program ended`)
      this.#over(this.#cause)
    })
    worker.once('left', () => {
      const message = `${load.program.path}: a database call does not return, so the thread was abandoned`
      listener.log({ level: 'error', text: message }, undefined)
      this.#over(this.#cause ?? runErrors.create('RUN_CRASHED', message))
    })
    this.loaded = loading.loaded.catch((error: unknown) => {
      throw this.#cause ?? error
    })
  }

  /** Number of calls without a response. */
  get pending(): number {
    return this.#pending
  }

  get isFull(): boolean {
    return this.#pending >= MAX_PENDING || this.#free.length === 0
  }

  /** True if the same call was running at the last two checks. */
  get isStuck(): boolean {
    return this.#isStuck
  }

  /** Expected microseconds of its queued calls, from measurements. */
  get backlog(): number {
    return this.#backlog
  }

  /** Queues a call, to be sent with {@link send}. Returns false if the thread is full. */
  give(call: PendingCall): boolean {
    if (this.isFull || this.#isOver) return false
    if (this.#pending === 0) this.#turnsSince = performance.now()
    const slot = this.#free.pop() as number
    this.#calls[slot] = call
    this.#pending++
    this.#backlog += this.#costOf(call)
    const isRecorded = call.origin?.trace?.sampled === true
    this.#progress[PROGRESS.REPORTED + slot] = isRecorded ? REPORT.RECORDED : this.#unrecorded
    Atomics.store(this.#progress, slot, STATE.POSTED)
    this.#outgoing.push(slot, call.endpoint, call.input, call.caller)
    return true
  }

  send(): void {
    if (this.#outgoing.length === 0) return
    this.#worker.postMessage(this.#outgoing)
    this.#outgoing = []
  }

  /** Checks for progress. Returns 0 if there was some since the last check, else the milliseconds without it. */
  stuckFor(): number {
    const turns = Atomics.load(this.#progress, PROGRESS.TURNS)
    const now = performance.now()
    this.#isStuck = turns === this.#turns
    if (this.#isStuck) return now - this.#turnsSince
    this.#turns = turns
    this.#turnsSince = now
    return 0
  }

  /** The running call; null if idle. */
  get running(): PendingCall | null {
    const slot = this.#calls.findIndex((call, slot) => {
      if (call === null) return false
      const state = Atomics.load(this.#progress, slot)
      return state === STATE.RUNNING || state === STATE.COMMITTING || state === STATE.COMMITTED
    })
    return this.#calls[slot] ?? null
  }

  has(isMeant: (call: PendingCall) => boolean): boolean {
    return this.#calls.some(call => call !== null && isMeant(call))
  }

  /** Withdraws calls that have not started, and returns them. */
  takeBack(isWanted: (call: PendingCall) => boolean): PendingCall[] {
    const withdrawn: PendingCall[] = []
    for (let slot = 0; slot < SLOTS; slot++) {
      const call = this.#calls[slot] ?? null
      if (call === null || !isWanted(call)) continue
      const { POSTED, TAKEN_BACK } = STATE
      if (Atomics.compareExchange(this.#progress, slot, POSTED, TAKEN_BACK) !== POSTED) continue
      // The slot becomes free when the thread has seen the withdrawn call, because a message still names it.
      this.#calls[slot] = null
      this.#pending--
      this.#backlog -= this.#costOf(call)
      withdrawn.push(call)
    }
    return withdrawn
  }

  /** Ends the thread, even during a call. */
  kill(cause: SvcError): void {
    if (this.#cause !== null) return
    this.#cause = cause
    void this.#worker.end()
  }

  /** Ends an idle thread. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#bridge.abort()
    await this.#worker.end()
  }

  #costOf({ endpoint }: PendingCall): number {
    return this.#costs[endpoint] ?? 0
  }

  #take(answers: Answers): void {
    for (let at = 0; at < answers.length; at += 3) {
      const slot = answers[at] as number
      const call = this.#calls[slot] ?? null
      this.#calls[slot] = null
      this.#progress[slot] = STATE.FREE
      this.#free.push(slot)
      if (call === null) continue
      this.#pending--
      // Scaled by the number of calls: call costs change, so subtracting them would drift.
      this.#backlog = this.#pending === 0 ? 0 : (this.#backlog * this.#pending) / (this.#pending + 1)
      const statements = this.#progress[PROGRESS.STATEMENTS + slot] ?? null
      const content = answers[at + 2] as string | SentResponse
      const status = answers[at + 1] as number
      if (typeof content === 'string') call.answer(status, content, statements)
      else call.answer(status, '', statements, content)
    }
    this.#isStuck = false
    this.#listener.answered()
  }

  #report(message: Exclude<FromThread, Answers | { readonly kind: 'loaded' | 'refused' }>): void {
    if (message.kind === 'failed') {
      this.#listener.failed(message.endpoint, message.failure, this.#calls[message.slot]?.origin?.requestId)
      return
    }
    if (message.kind === 'ended') {
      const { kind: _kind, slot, ...end } = message
      const call = this.#calls[slot] ?? null
      if (call !== null) this.#listener.callEnded(end, call)
      return
    }
    if (message.kind === 'due') this.#listener.due()
    if (message.kind === 'step') this.#listener.stepped(message.step)
    if (message.kind === 'run') this.#listener.runChanged()
    if (message.kind === 'mesh') this.#listener.meshStep()
    if (message.kind !== 'log') return
    const { kind: _kind, slot, ...line } = message
    this.#listener.log(line, this.#calls[slot]?.origin?.requestId)
    this.#gate.read(line)
  }

  #over(cause: SvcError): void {
    this.#bridge.abort()
    if (this.#isOver) return
    this.#isOver = true
    const calls = this.#calls.flatMap((call, slot) => {
      if (call === null) return []
      const effects = Atomics.load(this.#progress, PROGRESS.EFFECTS + slot)
      return [{ call, state: Atomics.load(this.#progress, slot), effects }]
    })
    this.#calls.fill(null)
    this.#pending = 0
    this.#listener.ended({ cause, calls })
  }
}

function endOf(path: string, bytes: number, error: Error & { readonly code?: string }): SvcError {
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') {
    return runErrors.create('RUN_CRASHED', `${path}: the thread of the program ended: ${error.message}`)
  }
  return runErrors.create('RUN_MEMORY_LIMIT', `${path}: the program uses more than ${bytes / 2 ** 20} MB`, {
    hint: 'raise the setting heap_mb'
  })
}
