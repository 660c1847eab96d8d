import type { StoredAddress } from '../actors/actor-store.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { type EndpointResponse, failureOf } from '../serving/endpoint-runner.ts'
import type { ScheduledClaim } from './workflow-store.ts'

/** Due work for a thread, as JSON. */
export type DueWork = { readonly claim: ScheduledClaim } | { readonly mailbox: StoredAddress }

/** Result of due work, as JSON. */
export interface DueEnd {
  readonly kind: 'completed' | 'failed' | 'waiting' | 'taken' | 'handled'
  /** True if more work may be due. */
  readonly more: boolean
}

/** Performs due work in a thread of a served program: a turn of a run, or the oldest message of an instance. */
export class DurableRunner {
  readonly #interpreter: Interpreter
  readonly #limits: Limits

  constructor(interpreter: Interpreter, limits: Limits) {
    this.#interpreter = interpreter
    this.#limits = limits
  }

  run(text: string): EndpointResponse {
    try {
      const work = JSON.parse(text) as DueWork
      if ('mailbox' in work) {
        const more = this.#interpreter.deliver(work.mailbox, this.#limits)
        return answer({ kind: 'handled', more }, null)
      }
      const { claim } = work
      const end = this.#interpreter.turn(claim.run, this.#limits, { claim })
      if (end.kind !== 'failed') return answer({ kind: end.kind, more: false }, null)
      // There is no caller, so the error is logged.
      const { code, message } = end.failure
      return answer(
        { kind: 'failed', more: false },
        { code, message: `the run ${claim.run} failed: ${message}`, calls: [] }
      )
    } catch (thrown) {
      const failure = failureOf(thrown)
      return { status: 500, body: JSON.stringify({ code: failure.code, error: failure.message }), failure }
    }
  }
}

function answer(end: DueEnd, failure: EndpointResponse['failure']): EndpointResponse {
  return { status: 200, body: JSON.stringify(end), failure }
}
