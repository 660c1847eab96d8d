import { randomInt } from 'node:crypto'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import { compiled, listenerOf, type Runner, reportFailure } from './run-command.ts'
import type { TestResult } from './testing/run-tests.ts'

export const testCommand: CommandDescriptor = {
  command: 'test',
  summary: 'Run @test and @forall functions of files or folders',
  input: t.object({
    files: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Files and folders.' }),
    filter: t.optional(t.string({ minLength: 1, description: 'Only tests whose name or title contains this.' })),
    forall_iterations: t.optional(t.integer({ minimum: 1, description: 'Number of values for each @forall.' })),
    seed: t.optional(t.integer({ minimum: 0, description: 'Seed of the values of @forall; printed after a failure.' }))
  }),
  args: ['files']
}

interface TestInput {
  readonly files: readonly string[]
  readonly filter?: string
  readonly forall_iterations?: number
  readonly seed?: number
}

/** Counts of a run of tests. */
export interface TestCounts {
  readonly passed: number
  readonly failed: number
  /** True if files had errors. */
  readonly hasErrors: boolean
  /** True if a filter left tests out. */
  readonly isFiltered: boolean
}

/** One test of one file. */
type FileResult = TestResult & { readonly file: string }

/**
 * Runs `svc test`, and reports what ran to `ended`. Exit codes: 0; 1 if a test failed, a file has errors, or no test was found; 130 if interrupted.
 */
export function runTestFiles(
  runner: Runner,
  iterations: () => number,
  ended?: (counts: TestCounts) => void
): CommandHandler {
  return async (given, io) => {
    const { files, filter, forall_iterations = iterations(), seed = randomInt(2 ** 31) } = given as unknown as TestInput
    const results: FileResult[] = []
    let hasErrors = false
    try {
      for (const source of await runner.compiler.read(files)) {
        const program = await compiled(runner.compiler, source, false, io)
        if (program === null) {
          hasErrors = true
          continue
        }
        const wanted = program.tests.filter(({ name, title }) => {
          return filter === undefined || name.includes(filter) || (title?.includes(filter) ?? false)
        })
        if (wanted.length === 0) continue
        const names = wanted.map(({ name }) => name)
        const ending = await runner.run(
          program,
          { work: { kind: 'test', names, iterations: forall_iterations, seed }, args: [], seed },
          {
            // Output of tests would mix with the results.
            print: line => void io.stderr.write(`${line}\n`),
            report(message) {
              if (message.kind !== 'test') return listenerOf(io).report(message)
              const result = { ...message.result, file: source.path }
              results.push(result)
              if (!io.json) io.stdout.write(lineOf(result))
            },
            failed: listenerOf(io).failed
          },
          io.signal
        )
        if (ending.ok) continue
        hasErrors = true
        if (reportFailure(ending.failure, io) === 130) return 130
      }
    } catch (error) {
      if (!isSvcError(error)) throw error
      const { code, message, hint = '' } = error
      return reportFailure({ code, message, hint, calls: [] }, io)
    }
    const failed = results.filter(({ ok }) => !ok).length
    summarise(results, failed, seed, hasErrors, io)
    ended?.({ passed: results.length - failed, failed, hasErrors, isFiltered: filter !== undefined })
    return hasErrors || failed > 0 || results.length === 0 ? 1 : 0
  }
}

function summarise(
  results: readonly FileResult[],
  failed: number,
  seed: number,
  hasErrors: boolean,
  io: CommandIo
): void {
  const passed = results.length - failed
  if (io.json) {
    io.stdout.write(`${JSON.stringify({ passed, failed, seed, tests: results }, null, 2)}\n`)
    return
  }
  const hasFailedForall = results.some(({ kind, ok }) => kind === 'forall' && !ok)
  const repeat = hasFailedForall ? `; repeat with --seed ${seed}` : ''
  // The errors of the program are the whole answer.
  if (results.length === 0 && hasErrors) return
  io.stdout.write(results.length === 0 ? 'no tests\n' : `${passed} passed, ${failed} failed${repeat}\n`)
}

function lineOf({ name, title, ok, kind, runs, milliseconds, failure }: FileResult): string {
  const shown = title === null ? name : `${name}: ${title}`
  const times = kind === 'forall' && ok ? `, ${runs} values` : ''
  if (failure === null) return `ok      ${shown} (${milliseconds} ms${times})\n`
  const inputs = failure.inputs.map(input => `          ${input}\n`)
  const calls = failure.calls.map(call => `          ${call}\n`)
  return [`FAILED  ${shown}\n`, `        ${failure.message} [${failure.code}]\n`, ...inputs, ...calls].join('')
}
