import type { Program, ProgramTest } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { chance } from '../chance.ts'
import type { ProgramDatabase } from '../database/program-database.ts'
import { RunError } from '../interpreter/failure.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { Value } from '../interpreter/value.ts'
import { Generator } from './generator.ts'
import { literal } from './literal.ts'
import { simpler } from './simpler.ts'

export interface TestResult {
  readonly name: string
  readonly title: string | null
  readonly kind: 'test' | 'forall'
  readonly ok: boolean
  readonly milliseconds: number
  /** Number of tried values: 1 for a test. */
  readonly runs: number
  readonly failure: TestFailure | null
}

export interface TestFailure {
  readonly code: string
  readonly message: string
  readonly calls: readonly string[]
  /** `name = value` of the simplest failing values. */
  readonly inputs: readonly string[]
}

export interface TestOptions {
  readonly names: readonly string[]
  readonly iterations: number
  readonly seed: number
  /** Limits of each run. */
  readonly limits: Limits
  /** Rolls back the changes of a run. */
  readonly database: ProgramDatabase | null
  /** Called when the thread's time limit restarts. */
  readonly begin: () => void
}

/** Maximum shrinking attempts after a failure. */
const MAX_SIMPLER = 200

/** Runs tests in order and reports each. A failed one does not stop the others. */
export function runTests(
  interpreter: Interpreter,
  program: Program,
  options: TestOptions,
  tell: (result: TestResult) => void
): void {
  const { names, iterations, seed } = options
  for (const test of program.tests.filter(({ name }) => names.includes(name))) {
    const began = performance.now()
    const attempt = (args: readonly Value[]): TestFailure | null => attempted(interpreter, test, args, options)
    const { failure, runs } =
      test.kind === 'test' ? { failure: attempt([]), runs: 1 } : forAll(program, test, iterations, seed, attempt)
    const { name, title, kind } = test
    const milliseconds = Math.round(performance.now() - began)
    tell({ name, title, kind, ok: failure === null, milliseconds, runs, failure })
  }
}

function attempted(
  interpreter: Interpreter,
  { name }: ProgramTest,
  args: readonly Value[],
  { limits, database, begin }: Pick<TestOptions, 'limits' | 'database' | 'begin'>
): TestFailure | null {
  let failure: TestFailure | null = null
  // Inside the transaction, which treats a thrown error as a database failure.
  const run = (): void => {
    begin()
    try {
      interpreter.test(name, args, limits)
    } catch (error) {
      failure = failureOf(error)
    } finally {
      // The rollback does not count against its time limit.
      begin()
    }
  }
  try {
    if (database === null) run()
    else database.transaction('write', run, () => false)
  } catch (error) {
    failure ??= failureOf(error)
  }
  return failure
}

/** Rethrows errors that are not program failures. */
function failureOf(error: unknown): TestFailure {
  if (!isSvcError(error) && !(error instanceof RunError)) throw error
  const { calls = [] } = (isSvcError(error) ? (error.data ?? {}) : {}) as { readonly calls?: readonly string[] }
  return { code: error.code, message: error.message, calls, inputs: [] }
}

function forAll(
  program: Program,
  test: ProgramTest,
  iterations: number,
  seed: number,
  attempt: (args: readonly Value[]) => TestFailure | null
): { failure: TestFailure | null; runs: number } {
  const generator = new Generator(program, chance(seed))
  for (let turn = 0; turn < iterations; turn++) {
    const unknown = test.params.find(({ type_ann }) => !generator.knows(type_ann))
    if (unknown !== undefined) {
      const message = `${program.path}: values cannot be generated for the parameter ${unknown.name} of ${test.name}`
      return { failure: { code: 'RUN_UNSUPPORTED', message, calls: [], inputs: [] }, runs: 0 }
    }
    // Small values first.
    const args = test.params.map(({ type_ann }) => generator.value(type_ann, 1 + turn / 20))
    const failure = attempt(args)
    if (failure === null) continue
    const [least, why] = simplest(args, failure, attempt)
    const inputs = test.params.map(({ name }, index) => `${name} = ${literal(least[index] as Value)}`)
    return { failure: { ...why, inputs }, runs: turn + 1 }
  }
  return { failure: null, runs: iterations }
}

function simplest(
  args: readonly Value[],
  failure: TestFailure,
  attempt: (args: readonly Value[]) => TestFailure | null
): [readonly Value[], TestFailure] {
  let [least, why] = [args, failure]
  let left = MAX_SIMPLER
  for (let hasFound = true; hasFound && left > 0; ) {
    hasFound = false
    for (const candidate of least.flatMap((arg, index) => simpler(arg).map(other => least.with(index, other)))) {
      if (left-- <= 0) break
      const again = attempt(candidate)
      if (again === null || again.code !== failure.code) continue
      ;[least, why, hasFound] = [candidate, again, true]
      break
    }
  }
  return [least, why]
}
