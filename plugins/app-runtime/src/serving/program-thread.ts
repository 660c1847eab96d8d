import { type MessagePort, parentPort } from 'node:worker_threads'
import type { HirExpression } from '@svc/contracts'
import type { Host } from '../interpreter/host.ts'
import { Interpreter, type RunningProgram } from '../interpreter/interpreter.ts'
import type { Value } from '../interpreter/value.ts'
import { WireTypes } from '../wire/wire-types.ts'
import { DurableRunner } from '../workflows/durable-runner.ts'
import { EndpointRunner, failureOf, type Turn } from './endpoint-runner.ts'
import { endpointsOf } from './endpoints.ts'
import { type Answers, type Calls, type FromThread, type Load, PROGRESS, STATE, type ToThread } from './messages.ts'
import { openSurroundings } from './surroundings.ts'

/** A call that took less may share a message with others. */
const QUICK_MICROSECONDS = 500

/** How much one call changes what calls of its endpoint are thought to take. */
const WEIGHT = 0.2

/** A program, loaded into this thread. */
class LoadedProgram {
  readonly #port: MessagePort
  readonly #runners: readonly (EndpointRunner | DurableRunner)[]
  readonly #names: readonly string[]
  readonly #progress: Int32Array
  readonly #costs: Int32Array
  #answers: Answers = []
  #slot = 0
  #running: RunningProgram | null = null
  readonly #turn: Turn = {
    running: program => {
      this.#running = program
    },
    committing: () => void Atomics.store(this.#progress, this.#slot, STATE.COMMITTING),
    committed: () => void Atomics.store(this.#progress, this.#slot, STATE.COMMITTED)
  }

  constructor(port: MessagePort, load: Load) {
    this.#port = port
    this.#progress = new Int32Array(load.progress)
    this.#costs = new Int32Array(load.costs)
    const { program, limits } = load
    const surroundings = openSurroundings(load, message => port.postMessage(message satisfies FromThread))
    const interpreter = new Interpreter(program, surroundings.host satisfies Host)
    const evaluate = (expression: HirExpression): Value => (this.#running as RunningProgram).evaluate(expression)
    const types = new WireTypes(program.module, { defaults: program.defaults, evaluate })
    const endpoints = endpointsOf(program.module)
    this.#names = endpoints.map(({ kind, name }) => `${kind} ${name}`)
    this.#runners = endpoints.map(endpoint => {
      if (endpoint.kind === 'due') return new DurableRunner(interpreter, limits)
      return new EndpointRunner(endpoint, interpreter, types, limits, surroundings.inTransaction)
    })
  }

  perform(calls: Calls): void {
    for (let at = 0; at < calls.length; at += 3) {
      const slot = calls[at] as number
      // What waits behind a long call may have been given to another thread.
      const { POSTED, RUNNING, DONE } = STATE
      if (Atomics.compareExchange(this.#progress, slot, POSTED, RUNNING) !== POSTED) {
        this.#answers.push(slot, 0, '')
        continue
      }
      const endpoint = calls[at + 1] as number
      const cost = this.#costs[endpoint] ?? 0
      // Nobody waits for the answer of a quick call because a long one follows it.
      if (cost === 0 || cost > QUICK_MICROSECONDS) this.#send()
      Atomics.add(this.#progress, PROGRESS.TURNS, 1)
      this.#slot = slot
      const started = performance.now()
      const { status, body, failure } = (this.#runners[endpoint] as EndpointRunner | DurableRunner).run(
        calls[at + 2] as string,
        this.#turn
      )
      const taken = Math.max(1, Math.round((performance.now() - started) * 1000))
      this.#costs[endpoint] = cost === 0 ? taken : Math.round(cost + WEIGHT * (taken - cost))
      Atomics.store(this.#progress, slot, DONE)
      Atomics.add(this.#progress, PROGRESS.TURNS, 1)
      if (failure !== null) {
        this.#port.postMessage({
          kind: 'failed',
          endpoint: this.#names[endpoint] as string,
          failure
        } satisfies FromThread)
      }
      this.#answers.push(slot, status, body)
      if (taken > QUICK_MICROSECONDS) this.#send()
    }
    this.#send()
  }

  #send(): void {
    if (this.#answers.length === 0) return
    this.#port.postMessage(this.#answers)
    this.#answers = []
  }
}

const port = parentPort
if (port !== null) {
  let loaded: LoadedProgram | null = null
  port.on('message', (message: ToThread) => {
    if (!('kind' in message)) {
      loaded?.perform(message)
      return
    }
    try {
      loaded = new LoadedProgram(port as unknown as MessagePort, message)
      port.postMessage({ kind: 'loaded' } satisfies FromThread)
    } catch (error) {
      port.postMessage({ kind: 'refused', error: failureOf(error) } satisfies FromThread)
    }
  })
}
