import type { Program, ProgramTest } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { ProgramDatabase } from '../database/program-database.ts'
import { RunError } from '../interpreter/failure.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { Value } from '../interpreter/value.ts'
import { seededRandom } from '../seeded-random.ts'
import { Generator } from './generator.ts'
import { literal } from './literal.ts'
import { simpler } from './simpler.ts'

export interface TestResult {
  readonly name: string
  readonly title: string | null
  readonly kind: 'test' | 'forall'
  readonly ok: boolean
  readonly milliseconds: number
  /** Number of runs: 1 for a test, one per generated input for a forall. */
  readonly runs: number
  readonly failure: TestFailure | null
}

export interface TestFailure {
  readonly code: string
  readonly message: string
  readonly calls: readonly string[]
  /** The simplest failing inputs, each as `name = value`. */
  readonly inputs: readonly string[]
}

export interface TestOptions {
  readonly names: readonly string[]
  readonly iterations: number
  readonly seed: number
  /** Limits of each run. */
  readonly limits: Limits
  /** Database of the tests; the changes of each run are rolled back. */
  readonly database: ProgramDatabase | null
  /** Restarts the thread's time limit. */
  readonly begin: () => void
}

/** Maximum attempts to shrink a failing input. */
const MAX_SIMPLER = 2_000

/** Runs tests in order and reports each. A failed one does not stop the others. */
export function runTests(
  interpreter: Interpreter,
  program: Program,
  options: TestOptions,
  report: (result: TestResult) => void
): void {
  const { names, iterations, seed } = options
  for (const test of program.tests.filter(({ name }) => names.includes(name))) {
    const began = performance.now()
    const attempt = (args: readonly Value[]): TestFailure | null => attemptOnce(interpreter, test, args, options)
    const { failure, runs } =
      test.kind === 'test' ? { failure: attempt([]), runs: 1 } : forAll(program, test, iterations, seed, attempt)
    const { name, title, kind } = test
    const milliseconds = Math.round(performance.now() - began)
    report({ name, title, kind, ok: failure === null, milliseconds, runs, failure })
  }
}

function attemptOnce(
  interpreter: Interpreter,
  { name }: ProgramTest,
  args: readonly Value[],
  { limits, database, begin }: Pick<TestOptions, 'limits' | 'database' | 'begin'>
): TestFailure | null {
  let failure: TestFailure | null = null
  // Errors are caught here: the transaction would treat them as database failures.
  const run = (): void => {
    begin()
    try {
      interpreter.test(name, args, limits)
    } catch (error) {
      failure = failureOf(error)
    } finally {
      // The rollback gets a separate time limit.
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

/** Describes a program failure. Rethrows other errors. */
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
  const generator = new Generator(program, seededRandom(seed))
  for (let turn = 0; turn < iterations; turn++) {
    const unknown = test.params.find(({ type_ann }) => !generator.knows(type_ann))
    if (unknown !== undefined) {
      const message = `${program.path}: values cannot be generated for the parameter ${unknown.name} of ${test.name}`
      return { failure: { code: 'RUN_UNSUPPORTED', message, calls: [], inputs: [] }, runs: 0 }
    }
    // Values grow with each iteration.
    const args = test.params.map(({ type_ann }) => generator.value(type_ann, 1 + turn / 20))
    const failure = attempt(args)
    if (failure === null) continue
    const [minimalArgs, minimalFailure] = simplest(args, failure, attempt)
    const inputs = test.params.map(({ name }, index) => `${name} = ${literal(minimalArgs[index] as Value)}`)
    return { failure: { ...minimalFailure, inputs }, runs: turn + 1 }
  }
  return { failure: null, runs: iterations }
}

function simplest(
  args: readonly Value[],
  failure: TestFailure,
  attempt: (args: readonly Value[]) => TestFailure | null
): [readonly Value[], TestFailure] {
  let [minimalArgs, minimalFailure] = [args, failure]
  let left = MAX_SIMPLER
  for (let hasFound = true; hasFound && left > 0; ) {
    hasFound = false
    for (const candidate of minimalArgs.flatMap((arg, index) =>
      simpler(arg).map(other => minimalArgs.with(index, other))
    )) {
      if (left-- <= 0) break
      const again = attempt(candidate)
      if (again === null || again.code !== failure.code) continue
      ;[minimalArgs, minimalFailure, hasFound] = [candidate, again, true]
      break
    }
  }
  return [minimalArgs, minimalFailure]
}
