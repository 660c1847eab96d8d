import { MessageChannel, type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import type { Hir } from '@svc/contracts'
import { unixMs } from '@svc/plugin-sdk'
import { UsersRunner } from '../auth/users/users-runner.ts'
import type { ProgramDatabase } from '../database/program-database.ts'
import type { Host } from '../interpreter/host.ts'
import { Interpreter, type RunningProgram } from '../interpreter/interpreter.ts'
import type { Value } from '../interpreter/value.ts'
import { WireTypes } from '../wire/wire-types.ts'
import { DurableRunner } from '../workflows/durable-runner.ts'
import { type EndpointResponse, EndpointRunner, failed, failureOf, OK, type Turn } from './endpoint-runner.ts'
import { endpointsOf, isTransaction } from './endpoints.ts'
import {
  type Answers,
  type Calls,
  EFFECT,
  type FromThread,
  type Load,
  PROGRESS,
  REPORT,
  type Rehearsal,
  STATE,
  type ToThread
} from './messages.ts'
import { openProgramHost } from './program-host.ts'

/** The responses of faster calls may be sent in one message. */
const QUICK_MICROSECONDS = 500

/** Elements per call in the flat list of {@link Calls}. */
const CALL = 4

/** Maximum calls in a group commit, and the maximum cost of each. */
const MAX_GROUP = 64
const MAX_GROUPED_MICROSECONDS = 5_000

/** Milliseconds from which a call is slow: its statements are sent, even if its details are not recorded. */
const SLOW_MS = 100

/** Weight of a new measurement in the average cost of an endpoint. */
const WEIGHT = 0.2

/** A program loaded in this thread. */
class LoadedProgram {
  readonly #port: MessagePort
  readonly #runners: readonly (EndpointRunner | DurableRunner | UsersRunner)[]
  readonly #names: readonly string[]
  readonly #progress: Int32Array
  readonly #costs: Int32Array
  #answers: Answers = []
  #slot = 0
  #isDue = false
  #running: RunningProgram | null = null
  readonly #turn: Turn = {
    running: program => {
      this.#running = program
    },
    committing: () => void Atomics.store(this.#progress, this.#slot, STATE.COMMITTING),
    committed: () => void Atomics.store(this.#progress, this.#slot, STATE.COMMITTED)
  }

  readonly #heldTurn: Turn = { running: this.#turn.running, committing: () => undefined, committed: () => undefined }
  readonly #database: ProgramDatabase | null
  /** Indexes of endpoints whose changes are one transaction. */
  readonly #mutations: ReadonlySet<number>
  /** Indexes of endpoints whose transactions can be committed as a group. */
  readonly #writers: ReadonlySet<number>

  constructor(port: MessagePort, load: Load) {
    this.#port = port
    this.#progress = new Int32Array(load.progress)
    this.#costs = new Int32Array(load.costs)
    const { program, limits } = load
    const report = (message: FromThread): void => {
      // Due work is visible to others only after the commit, so it is reported then.
      const isDue = 'kind' in message && message.kind === 'due'
      if (isDue && this.#database?.connection.inTransaction === true) this.#isDue = true
      else port.postMessage(message)
    }
    const noting = (effect: number) => (): void => {
      Atomics.or(this.#progress, PROGRESS.EFFECTS + this.#slot, effect)
    }
    const services = openProgramHost(load, {
      report,
      onEffect: noting(EFFECT.OUTSIDE),
      onStore: noting(EFFECT.STORED),
      slot: () => this.#slot
    })
    const interpreter = new Interpreter(program, services.host satisfies Host)
    const evaluate = (code: Hir.Body): Value => (this.#running as RunningProgram).evaluate(code)
    const types = new WireTypes(program.module, { defaults: program.defaults, evaluate })
    const endpoints = endpointsOf(program)
    this.#names = endpoints.map(({ kind, name }) => `${kind} ${name}`)
    this.#mutations = new Set(endpoints.flatMap(({ kind }, index) => (isTransaction(kind) ? [index] : [])))
    const { database } = services
    this.#database = database
    const writers = endpoints.flatMap(({ kind, name }, index) => {
      return kind === 'mutation' && !database?.isOutOfProcess(name) ? [index] : []
    })
    this.#writers = new Set(database?.hasSavepoints ? writers : [])
    this.#runners = endpoints.map(endpoint => {
      if (endpoint.kind === 'due') return new DurableRunner(interpreter, limits)
      const { users } = program
      if (endpoint.kind === 'users' && users !== null && database !== null) {
        return new UsersRunner({ program, users, interpreter, types, limits, database, evaluate })
      }
      return new EndpointRunner(endpoint, interpreter, types, limits, services.inTransaction)
    })
  }

  close(): void {
    this.#database?.close()
  }

  perform(calls: Calls): void {
    for (let at = 0; at < calls.length; ) {
      const end = this.#endOfWriters(calls, at)
      if (end > at + CALL) this.#groupCommit(calls, at, end)
      else if (this.#begin(calls[at] as number)) this.#performOne(calls, at)
      at = Math.max(end, at + CALL)
    }
    this.#send()
  }

  /** Returns the end of the consecutive fast writers that begin at `from`. */
  #endOfWriters(calls: Calls, from: number): number {
    let at = from
    for (; at < calls.length && at < from + CALL * MAX_GROUP; at += CALL) {
      const endpoint = calls[at + 1] as number
      const cost = this.#costs[endpoint] ?? 0
      if (!this.#writers.has(endpoint) || cost === 0 || cost > MAX_GROUPED_MICROSECONDS) break
    }
    return at
  }

  /** Claims a call. Returns false if it was moved to another thread. */
  #begin(slot: number): boolean {
    const { POSTED, RUNNING } = STATE
    this.#slot = slot
    Atomics.store(this.#progress, PROGRESS.EFFECTS + slot, 0)
    const begins = Atomics.compareExchange(this.#progress, slot, POSTED, RUNNING) === POSTED
    if (begins) Atomics.add(this.#progress, PROGRESS.TURNS, 1)
    else this.#answers.push(slot, 0, '')
    return begins
  }

  #performOne(calls: Calls, at: number): void {
    const endpoint = calls[at + 1] as number
    const cost = this.#costs[endpoint] ?? 0
    // The responses of earlier calls must not wait for a long call.
    if (cost === 0 || cost > QUICK_MICROSECONDS) this.#send()
    const answer = this.#run(endpoint, calls[at + 2] as string, this.#turn, calls[at + 3] as string)
    this.#end(this.#slot, endpoint, answer)
    if ((this.#costs[endpoint] ?? 0) > QUICK_MICROSECONDS) this.#send()
  }

  /** Commits several writers with one disk sync. Their responses are sent only after the commit. */
  #groupCommit(calls: Calls, from: number, end: number): void {
    const held: { readonly slot: number; readonly endpoint: number; answer: EndpointResponse }[] = []
    const kept = () => held.filter(({ answer }) => answer.status === OK)
    this.#send()
    try {
      this.#database?.groupCommit(() => {
        for (let at = from; at < end; at += CALL) {
          const slot = calls[at] as number
          if (!this.#begin(slot)) continue
          const endpoint = calls[at + 1] as number
          const answer = this.#run(endpoint, calls[at + 2] as string, this.#heldTurn, calls[at + 3] as string)
          held.push({ slot, endpoint, answer })
          Atomics.store(this.#progress, slot, answer.status === OK ? STATE.HELD : STATE.ROLLED_BACK)
        }
        for (const { slot } of kept()) Atomics.store(this.#progress, slot, STATE.COMMITTING)
      })
      for (const { slot } of kept()) Atomics.store(this.#progress, slot, STATE.COMMITTED)
    } catch (thrown) {
      for (const each of held) each.answer = failed(thrown)
    }
    for (const { slot, endpoint, answer } of held) this.#end(slot, endpoint, answer)
    this.#send()
  }

  #run(endpoint: number, input: string, turn: Turn, caller: string): EndpointResponse {
    const started = performance.now()
    const slot = this.#slot
    this.#database?.log.begin(started)
    const before = this.#database?.statements ?? 0
    const answer = (this.#runners[endpoint] as EndpointRunner | DurableRunner | UsersRunner).run(input, turn, caller)
    const elapsed = Math.max(1, Math.round((performance.now() - started) * 1000))
    this.#progress[PROGRESS.STATEMENTS + this.#slot] = (this.#database?.statements ?? 0) - before
    const report = this.#progress[PROGRESS.REPORTED + slot]
    const isNotable = answer.status !== OK || report === REPORT.RECORDED || elapsed > 1_000 * SLOW_MS
    if (isNotable || report === REPORT.SHOWN)
      this.#sendEnd(endpoint, answer, slot, { started, isOnlyShown: !isNotable })
    const cost = this.#costs[endpoint] ?? 0
    this.#costs[endpoint] = cost === 0 ? elapsed : Math.round(cost + WEIGHT * (elapsed - cost))
    return answer
  }

  #sendEnd(
    endpoint: number,
    { status, failure }: EndpointResponse,
    slot: number,
    { started, isOnlyShown }: { readonly started: number; readonly isOnlyShown: boolean }
  ): void {
    const ms = performance.now() - started
    const log = this.#database?.log
    this.#port.postMessage({
      kind: 'ended',
      slot,
      name: this.#names[endpoint] as string,
      start: unixMs() - ms,
      ms,
      error: failure?.code ?? null,
      status,
      statements: log?.read() ?? [],
      statementCount: log?.count ?? 0,
      isOnlyShown
    } satisfies FromThread)
  }

  #end(slot: number, endpoint: number, { status, body, response, failure }: EndpointResponse): void {
    const isKept = status === OK || !this.#mutations.has(endpoint)
    const isUncertain = Atomics.load(this.#progress, slot) === STATE.COMMITTING
    Atomics.store(this.#progress, slot, isKept ? STATE.DONE : isUncertain ? STATE.UNCERTAIN : STATE.ROLLED_BACK)
    Atomics.add(this.#progress, PROGRESS.TURNS, 1)
    if (failure !== null) {
      const name = this.#names[endpoint] as string
      this.#port.postMessage({ kind: 'failed', endpoint: name, failure, slot } satisfies FromThread)
    }
    this.#answers.push(slot, status, response ?? body)
  }

  #send(): void {
    if (this.#isDue) this.#port.postMessage({ kind: 'due' } satisfies FromThread)
    this.#isDue = false
    if (this.#answers.length === 0) return
    this.#port.postMessage(this.#answers)
    this.#answers = []
  }
}

/** Loads a program and closes it again, to warm up this thread. */
function rehearse({ program, limits, database }: Rehearsal): void {
  const { port1, port2 } = new MessageChannel()
  const int = (count: number): SharedArrayBuffer => new SharedArrayBuffer(4 * count)
  try {
    new LoadedProgram(port1, {
      kind: 'load',
      program,
      limits,
      database,
      capabilities: [],
      durable: null,
      hasMesh: false,
      bridge: { port: port2, answered: int(1) },
      progress: int(PROGRESS.SIZE),
      costs: int(1)
    }).close()
  } catch {
    // Loading the real program reports its errors.
  } finally {
    port1.close()
  }
}

const port = parentPort
if (port !== null) {
  let loaded: LoadedProgram | null = null
  port.on('message', (message: ToThread) => {
    if (!('kind' in message)) {
      loaded?.perform(withWaiting(message, port as unknown as MessagePort))
      return
    }
    if (message.kind === 'rehearsal') {
      rehearse(message)
      return
    }
    try {
      loaded?.close()
      loaded = new LoadedProgram(port as unknown as MessagePort, message)
      port.postMessage({ kind: 'loaded' } satisfies FromThread)
    } catch (error) {
      port.postMessage({ kind: 'refused', error: failureOf(error) } satisfies FromThread)
    }
  })
}

/** Returns the calls together with all others that have already arrived. */
function withWaiting(calls: Calls, port: MessagePort): Calls {
  const all = [calls]
  for (;;) {
    const next = receiveMessageOnPort(port) as { readonly message: Calls } | undefined
    // Only calls can follow here: the program is loaded before the first call.
    if (next === undefined) return all.length === 1 ? calls : all.flat()
    all.push(next.message)
  }
}
