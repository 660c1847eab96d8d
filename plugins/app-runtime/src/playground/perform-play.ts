import { display } from '../interpreter/display.ts'
import { Exit, type Host } from '../interpreter/host.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import { Tagged } from '../interpreter/value.ts'
import type { Job, RunFailure, RunOutcome } from '../worker/job.ts'
import { failureOf } from '../worker/run-failure.ts'
import { readTables } from './read-tables.ts'

/** Maximum characters of the result of `main`. */
const MAX_RESULT = 65_536

/** Runs `main`, then reads the tables, also after a failure. `begin` restarts the time limit. */
export function performPlay(
  interpreter: Interpreter,
  { program, limits }: Pick<Job, 'program' | 'limits'>,
  { database }: Pick<Host, 'database'>,
  begin: () => void
): RunOutcome {
  const end = ran(interpreter, limits)
  begin()
  const tables = interpreter.within(limits, () => {
    try {
      return database === null ? [] : readTables(program, database)
    } catch {
      return null
    }
  })
  return { refused: null, exit: null, ...end.outcome, play: { failure: end.failure, tables } }
}

function ran(
  interpreter: Interpreter,
  limits: Job['limits']
): { readonly outcome: Partial<RunOutcome>; readonly failure: RunFailure | null } {
  try {
    const value = interpreter.call('main', [], limits)
    if (value instanceof Tagged && value.tag === 'Error')
      return { outcome: { refused: cut(display(value.fields[0] ?? null)) }, failure: null }
    return { outcome: value === null ? {} : { result: cut(display(value)) }, failure: null }
  } catch (thrown) {
    if (thrown instanceof Exit) return { outcome: { exit: thrown.code }, failure: null }
    return { outcome: {}, failure: failureOf(thrown) }
  }
}

function cut(text: string): string {
  return text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)}…` : text
}
