import type { SharedWorkflowRuns } from '@svc/contracts'
import type { Bridge, BridgeAnswers } from '../threads/bridge.ts'

/** Methods that threads call. */
const METHODS = ['create', 'find', 'claim', 'adopt', 'history', 'record', 'signal', 'giveBack'] as const

type Method = (typeof METHODS)[number]

/** The methods as blocking calls. They throw the errors of the store. */
export type AskedRuns = {
  readonly [M in Method]: (...args: Parameters<SharedWorkflowRuns[M]>) => Awaited<ReturnType<SharedWorkflowRuns[M]>>
}

const questionOf = (method: Method): string => `workflow.${method}`

/** Returns the calls of a thread; each blocks until the main thread has answered. */
export function runsAsked(bridge: Bridge): AskedRuns {
  const calls = METHODS.map(method => [method, (...args: unknown[]) => bridge.ask(questionOf(method), args)])
  return Object.fromEntries(calls) as AskedRuns
}

/** Handles the calls of threads in the main thread. */
export function sharedRunsAnswers(runs: SharedWorkflowRuns): BridgeAnswers {
  const answers = METHODS.map(method => {
    const answer = (args: readonly unknown[]) =>
      (runs[method] as (...args: readonly unknown[]) => unknown).apply(runs, [...args])
    return [questionOf(method), answer]
  })
  return Object.fromEntries(answers)
}
