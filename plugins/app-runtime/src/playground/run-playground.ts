import type { CompileResult, LanguageCompiler, PrimaryDatabase } from '@svc/contracts'
import { defined, type Handler, type OutputOf } from '@svc/plugin-sdk'
import { freshAccess } from '../database/access.ts'
import type { Limits } from '../interpreter/machine.ts'
import { openScratchFiles } from '../storage/scratch-files.ts'
import { usesFiles } from '../storage/uses-files.ts'
import { CapturedOutput, lineText } from '../worker/captured-output.ts'
import type { RunFailure } from '../worker/job.ts'
import { runInThread } from '../worker/run-in-thread.ts'
import { compileForCaller } from './compile-for-caller.ts'
import type { playgroundRun } from './operations.ts'

/** Limits of a run. The settings of the program may be lower. */
const MAX_MS = 5_000
const MAX_STEPS = 100_000_000
const MAX_HEAP_BYTES = 128 * 2 ** 20
const MAX_DATABASE_BYTES = 64 * 2 ** 20
const MAX_OUTPUT_CHARACTERS = 200_000
const FILES = { fileBytes: 4 * 2 ** 20, bytes: 16 * 2 ** 20 }

type Outcome = OutputOf<typeof playgroundRun>
type Failure = NonNullable<Outcome['error']>

export function playgroundHandler(
  compiler: LanguageCompiler,
  store: PrimaryDatabase,
  limits: () => Limits
): Handler<typeof playgroundRun> {
  return async ({ source }, call) => {
    const started = performance.now()
    const output = new CapturedOutput(MAX_OUTPUT_CHARACTERS)
    const ended = (rest: Partial<Outcome>): Outcome => ({
      ok: false,
      ran: true,
      output: output.lines,
      cut: output.isCut,
      result: null,
      exit: null,
      error: null,
      tables: null,
      ms: Math.round(performance.now() - started),
      ...rest
    })
    const compiled = await compileForCaller(compiler, { path: 'playground.vox', text: source }, true, call.signal)
    if (!compiled.ok) return ended({ ran: false, error: invalid(compiled) })
    const { program } = compiled
    const files = usesFiles(program) ? await openScratchFiles(program, program.path, FILES) : null
    const ending = await runInThread(
      {
        program,
        limits: lowest(limits()),
        capabilities: [],
        seed: null,
        args: [],
        maxOutput: MAX_OUTPUT_CHARACTERS,
        work: { kind: 'play' },
        database: freshAccess(store, MAX_DATABASE_BYTES)
      },
      {
        print: text => output.add('print', text),
        report(message) {
          if (message.kind === 'log') output.add(message.level, lineText(message))
        },
        failed: () => undefined
      },
      call.signal,
      null,
      files?.answers
    ).finally(() => files?.close())
    if (!ending.ok) return ended({ error: failureOf(ending.failure) })
    const { refused, exit, result = null, play } = ending.outcome
    const failure = play?.failure ?? null
    const error = failure !== null ? failureOf(failure) : refused !== null ? problem(null, refused) : null
    return ended({
      ok: error === null && (exit ?? 0) === 0,
      result,
      exit,
      error,
      tables: play?.tables?.map(table => ({ ...table, columns: [...table.columns], rows: [...table.rows] })) ?? null
    })
  }
}

function lowest({ steps, milliseconds, bytes, depth }: Limits): Limits {
  return {
    steps: Math.min(steps, MAX_STEPS),
    milliseconds: Math.min(milliseconds, MAX_MS),
    bytes: Math.min(bytes, MAX_HEAP_BYTES),
    depth
  }
}

function invalid({ report, diagnostics }: Extract<CompileResult, { readonly ok: false }>): Failure {
  const errors = diagnostics as readonly Diagnostic[]
  const first = errors.find(({ severity }) => severity === 'Error')
  return {
    ...problem(first?.error_code ?? null, report.trimEnd()),
    ...defined({ line: first?.span?.start_line, column: first?.span?.start_col })
  }
}

/** Diagnostic in the form of `svc check --format json`. */
interface Diagnostic {
  readonly error_code: string
  readonly severity: string
  /** Absent if the program exceeds the limits of the compiler. */
  readonly span?: { readonly start_line: number; readonly start_col: number }
}

function failureOf({ code, message, hint, at, calls }: RunFailure): Failure {
  return {
    ...problem(code, message),
    line: at?.line ?? null,
    column: at?.column ?? null,
    hint: hint ?? null,
    calls: [...calls]
  }
}

function problem(code: string | null, message: string): Failure {
  return { code, message, line: null, column: null, hint: null, calls: [] }
}
