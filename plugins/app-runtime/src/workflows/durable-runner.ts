import type { StoredAddress } from '../actors/actor-store.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { type Answer, failureOf } from '../serving/endpoint-runner.ts'

/** What a thread is asked to do of what is due, as JSON. */
export type DueWork = { readonly run: string; readonly owner: string } | { readonly mailbox: StoredAddress }

/** What came of it, as JSON. */
export interface DueEnd {
  readonly kind: 'completed' | 'failed' | 'waiting' | 'taken' | 'handled'
  /** Whether there may be more to do at once. */
  readonly more: boolean
}

/** Does what is due, in a thread of a served program: a turn at a run, or the oldest message of an instance. */
export class DurableRunner {
  readonly #interpreter: Interpreter
  readonly #limits: Limits

  constructor(interpreter: Interpreter, limits: Limits) {
    this.#interpreter = interpreter
    this.#limits = limits
  }

  run(text: string): Answer {
    try {
      return { status: 200, body: JSON.stringify(this.#perform(JSON.parse(text) as DueWork)), failure: null }
    } catch (thrown) {
      const failure = failureOf(thrown)
      return { status: 500, body: JSON.stringify({ code: failure.code, error: failure.message }), failure }
    }
  }

  #perform(work: DueWork): DueEnd {
    if ('mailbox' in work) {
      return { kind: 'handled', more: this.#interpreter.deliver(work.mailbox, this.#limits) }
    }
    const { kind } = this.#interpreter.turn(work.run, this.#limits, { owner: work.owner })
    return { kind, more: false }
  }
}
