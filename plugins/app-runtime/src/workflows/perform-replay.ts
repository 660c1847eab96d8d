import type { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { ReplayEnd, type ReplayStore } from './replay-store.ts'
import type { RunRecord } from './workflow-store.ts'

/** Outcome of a replay. */
export interface ReplayOutcome {
  /** Whether the program repeats the recorded steps; null if that is not known, because a limit ended the replay. */
  readonly isDeterministic: boolean | null
  /** The reason, as one sentence. */
  readonly detail: string
  /** Number of recorded steps that the program reached. */
  readonly replayed: number
}

const LIMITS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_STEP_LIMIT', 'RUN_MEMORY_LIMIT', 'RUN_STACK_LIMIT'])

/** Runs a program against the recorded steps of a run. No step is executed, and nothing is stored. */
export function performReplay(
  interpreter: Interpreter,
  { runId, status, result, error }: RunRecord,
  store: ReplayStore,
  limits: Limits
): ReplayOutcome {
  const outcome = (isDeterministic: boolean | null, detail: string): ReplayOutcome => {
    const { missed, replayed } = store
    if (isDeterministic !== true || missed.length === 0) return { isDeterministic, detail, replayed }
    return { isDeterministic: false, detail: `the program no longer reaches the step ${missed[0]}`, replayed }
  }
  try {
    const end = interpreter.turn(runId, limits)
    if (end.kind === 'failed') {
      const { code, message } = end.failure
      if (LIMITS.has(code)) return outcome(null, `the replay reached a limit: ${message}`)
      const isSame = status === 'failed' && error?.startsWith(`${code}:`) === true
      return outcome(isSame, isSame ? `it fails as recorded with ${code}` : `${code}: ${message}`)
    }
    if (end.kind === 'waiting' || store.turn?.status !== 'completed') {
      const isOpen = status !== 'completed'
      return outcome(isOpen, isOpen ? 'it waits as recorded' : 'the program waits, but the run has completed')
    }
    if (status !== 'completed') return outcome(true, 'all recorded steps are repeated, and then it completes')
    const isSame = store.turn.result === result
    return outcome(isSame, isSame ? 'it completes with the recorded result' : 'it completes with another result')
  } catch (thrown) {
    if (!(thrown instanceof ReplayEnd)) throw thrown
    const isOpen = status !== 'completed'
    const begins = `the program begins the step ${thrown.step}`
    return outcome(
      isOpen,
      isOpen ? `all recorded steps are repeated; next, ${begins}` : `${begins}, which the run lacks`
    )
  }
}
