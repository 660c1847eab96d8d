import type { Span, SpanAttributes } from '@svc/contracts'

/** Starts a step of the recorded call that runs now; null if there is none. */
export type StartStep = (name: string, attributes?: SpanAttributes) => Span | null

/** Runs a function as a step. `describe`: attributes of its result. */
export function inStep<A>(
  start: StartStep | undefined,
  name: string,
  run: () => A,
  describe: (result: A) => SpanAttributes
): A {
  const step = start?.(name) ?? null
  if (step === null) return run()
  try {
    const result = run()
    step.set(describe(result))
    step.end()
    return result
  } catch (error) {
    step.end(error)
    throw error
  }
}
