import { once } from 'node:events'
import type { LanguageCompiler, Program, ProgramText } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import type { Job, RunFailure } from './worker/job.ts'
import type { Ending, Listener } from './worker/run-in-thread.ts'

export const runCommand: CommandDescriptor = {
  command: 'run',
  summary: 'Runs the function main of a program',
  input: t.object({
    file: t.string({ minLength: 1, description: 'The source file.' }),
    args: t.array(t.string(), { default: [], description: 'What main is called with.' }),
    script: t.boolean({ default: false, description: 'Run loose statements in place of a function main.' }),
    seed: t.optional(t.integer({ description: 'Makes std.random give the same numbers each time.' }))
  }),
  args: ['file', 'args']
}

interface RunInput {
  readonly file: string
  readonly args?: readonly string[]
  readonly script?: boolean
  readonly seed?: number
}

/** What the commands ask of the plugin. */
export interface Runner {
  readonly compiler: LanguageCompiler
  run(
    program: Program,
    job: Pick<Job, 'work' | 'args' | 'seed'>,
    listener: Listener,
    signal: AbortSignal
  ): Promise<Ending>
}

/**
 * Exit codes: 0; 1 when the file has errors, or the program failed or returned an Error; 130 when it was interrupted.
 */
export function runProgram(runner: Runner): CommandHandler {
  return async (given, io) => {
    const { file, args = [], script = false, seed = null } = given as unknown as RunInput
    const program = await compiled(runner.compiler, file, script, io)
    if (program === null) return 1
    const ending = await runner.run(program, { work: { kind: 'run' }, args, seed }, listenerOf(io), io.signal)
    if (!ending.ok) return tellFailure(ending.failure, io)
    const { refused, exit } = ending.outcome
    if (refused === null) return exit ?? 0
    io.stderr.write(io.json ? `${JSON.stringify({ error: { message: refused } })}\n` : `error: ${refused}\n`)
    return 1
  }
}

/** Output goes where a person or a pipe takes it, as fast as that does. */
export function listenerOf(io: CommandIo): Listener {
  return {
    async print(line) {
      if (!io.stdout.write(`${line}\n`)) await once(io.stdout, 'drain')
    },
    report(message) {
      if (message.kind === 'log') io.stderr.write(`${message.level}: ${message.text}\n`)
    },
    failed(error, kind) {
      io.stderr.write(`error: ${kind} failed: ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
}

/** The program of a file; null after telling why there is none. */
export async function compiled(
  compiler: LanguageCompiler,
  file: string | ProgramText,
  script: boolean,
  io: CommandIo
): Promise<Program | null> {
  try {
    const source = typeof file === 'string' ? (await compiler.read([file]))[0] : file
    if (source === undefined) return null
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
    tellFailure({ code, message, hint, calls: [] }, io)
    return null
  }
}

/** Says why a program ended; gives the exit code. */
export function tellFailure(
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
