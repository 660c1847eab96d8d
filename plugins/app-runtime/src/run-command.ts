import { once } from 'node:events'
import type { KernelAdmin, LanguageCompiler, Program, ProgramText } from '@svc/contracts'
import {
  type CommandDescriptor,
  type CommandHandler,
  type CommandIo,
  errorMessage,
  isSvcError,
  t
} from '@svc/plugin-sdk'
import { type AppInput, appOptions, isApp, reportServing, resolveDatabase, servedProgram } from './app-mode.ts'
import { runErrors } from './errors.ts'
import { lineText } from './worker/captured-output.ts'
import type { Job, PlayWork, RunFailure } from './worker/job.ts'
import type { Listener, ThreadResult } from './worker/run-in-thread.ts'

export const runCommand: CommandDescriptor = {
  command: 'run',
  summary: 'Serve a program, or run its main function',
  input: t.object({
    file: t.string({ minLength: 1, description: 'The source file.' }),
    args: t.array(t.string(), { default: [], description: 'Arguments of main.' }),
    mode: t.enum(['auto', 'app', 'script', 'interp'], {
      default: 'auto',
      description:
        'app serves the program, interp runs its function main, script runs its top-level statements; auto selects one of them.'
    }),
    app: t.boolean({ default: false, description: 'Same as --mode app.' }),
    script: t.boolean({ default: false, description: 'Same as --mode script.' }),
    interp: t.boolean({ default: false, description: 'Same as --mode interp.' }),
    ...appOptions,
    seed: t.optional(t.integer({ description: 'Seed of std.random, for the same numbers in each run.' }))
  }),
  args: ['file', 'args']
}

type Mode = 'auto' | 'app' | 'script' | 'interp'

interface RunInput extends AppInput {
  readonly file: string
  readonly args?: readonly string[]
  readonly mode?: Mode
  readonly app?: boolean
  readonly script?: boolean
  readonly interp?: boolean
  readonly seed?: number
}

/** Options of the commands. */
export interface Runner {
  readonly compiler: LanguageCompiler
  run(
    program: Program,
    job: Pick<Job, 'args' | 'seed'> & { readonly work: Exclude<Job['work'], PlayWork> },
    listener: Listener,
    signal: AbortSignal,
    /** Database: `memory`, or the path of a file; default: the primary database. */
    database?: string
  ): Promise<ThreadResult>
}

/**
 * Serves a program, or runs it. Exit codes: 0; 1 if the file has errors, or the program failed or returned an Error;
 * 2 if several modes are requested; 130 if interrupted. A program can also choose its exit code.
 */
export function runProgram(runner: Runner, admin?: KernelAdmin): CommandHandler {
  return async (given, io) => {
    const input = given as unknown as RunInput
    const { file, args = [], seed = null, database } = input
    const mode = modeOf(input)
    if (mode === null) {
      io.stderr.write('error: --mode, --app, --script and --interp exclude each other\n')
      return 2
    }
    const program = await compiled(runner.compiler, file, mode === 'script', io)
    if (program === null) return 1
    if (mode === 'app' || (mode === 'auto' && isApp(program))) {
      reportServing(file, io)
      return servedProgram(file, input, admin, endsUnserved(admin))
    }
    const job = { work: { kind: 'run' as const }, args, seed }
    const location = database === undefined ? undefined : resolveDatabase(database)
    const ending = await runner.run(program, job, listenerOf(io), io.signal, location)
    if (!ending.ok) return reportFailure(ending.failure, io)
    const { refused, exit } = ending.outcome
    if (refused === null) return exit ?? 0
    io.stderr.write(io.json ? `${JSON.stringify({ error: { message: refused } })}\n` : `error: ${refused}\n`)
    return 1
  }
}

/**
 * Returns the setting that ends the process if the program cannot be served, because it has no other purpose.
 * An explicit setting wins. `svc dev` does not use it, and waits for the next save.
 */
function endsUnserved(admin: KernelAdmin | undefined): Readonly<Record<string, unknown>> {
  const key = 'plugins.app-runtime.on_boot_failure'
  const chosen = admin?.settings('plugins.app-runtime').find(each => each.key === key)?.value
  return chosen === undefined || chosen === null ? { [key]: 'abort' } : {}
}

/** Returns the mode; null if several were requested. */
function modeOf({ mode = 'auto', app = false, script = false, interp = false }: RunInput): Mode | null {
  const requested = new Set<Mode>()
  if (mode !== 'auto') requested.add(mode)
  if (app) requested.add('app')
  if (script) requested.add('script')
  if (interp) requested.add('interp')
  const [first = 'auto', ...others] = requested
  return others.length === 0 ? first : null
}

/** Returns a listener that writes output, at the speed at which it is read. */
export function listenerOf(io: CommandIo): Listener {
  return {
    async print(line) {
      if (!io.stdout.write(`${line}\n`)) await once(io.stdout, 'drain')
    },
    report(message) {
      if (message.kind === 'log') io.stderr.write(`${message.level}: ${lineText(message)}\n`)
    },
    failed(error, kind) {
      io.stderr.write(`error: ${kind} failed: ${errorMessage(error)}\n`)
    }
  }
}

/** Compiles the program of a file. Reports its errors and returns null if there are any. */
export async function compiled(
  compiler: LanguageCompiler,
  file: string | ProgramText,
  script: boolean,
  io: CommandIo
): Promise<Program | null> {
  try {
    const sources = typeof file === 'string' ? await compiler.read([file]) : [file]
    const [source] = sources
    if (source === undefined || sources.length > 1) {
      throw runErrors.create('RUN_ARGUMENTS', `${file} is a folder with ${sources.length} source files`, {
        hint: 'name one of its files'
      })
    }
    const result = await compiler.compile(source, { script })
    if (!result.ok) {
      io.stderr.write(io.json ? `${JSON.stringify(result.diagnostics, null, 2)}\n` : result.report)
      return null
    }
    if (!io.json) io.stderr.write(result.warnings)
    return result.program
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message, hint = '' } = error
    reportFailure({ code, message, hint, calls: [] }, io)
    return null
  }
}

/** Writes the failure of a program; returns the exit code. */
export function reportFailure(
  { code, message, hint, calls, at }: Omit<RunFailure, 'code'> & { readonly code: string },
  io: CommandIo
): number {
  if (io.json) io.stderr.write(`${JSON.stringify({ error: { code, message, hint, at, calls } })}\n`)
  else {
    io.stderr.write(`error[${code}]: ${message}\n`)
    for (const call of calls) io.stderr.write(`  ${call}\n`)
    if (hint !== undefined) io.stderr.write(`  hint: ${hint}\n`)
  }
  return code === 'RUN_CANCELLED' ? 130 : 1
}
