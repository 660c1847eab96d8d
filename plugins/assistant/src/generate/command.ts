import { readProjectFile } from '@svc/contracts'
import {
  type CommandDescriptor,
  type CommandHandler,
  type CommandIo,
  isSvcError,
  type OutputOf,
  t
} from '@svc/plugin-sdk'
import { sourceTarget } from '../project/write-source.ts'
import type { Generator } from './generator.ts'
import type { generateCode } from './operation.ts'

const FILE_BYTES = 1_048_576

export const generateCommand: CommandDescriptor = {
  command: 'generate',
  summary: 'Generate a program with the configured model, checked by the compiler',
  input: t.object({
    prompt: t.string({ minLength: 1, description: 'What the program should do.' }),
    output: t.optional(
      t.string({ minLength: 1, description: 'Source file in the project to write. Default: print the program.' })
    ),
    preview: t.boolean({
      default: false,
      description: 'Show the changes to the output file without writing it'
    }),
    retries: t.integer({ default: 2, minimum: 0, maximum: 5, description: 'How often the model may repair it.' }),
    unchecked: t.boolean({ default: false, description: 'Skip the check by the compiler.' }),
    session: t.string({
      default: 'default',
      minLength: 1,
      maxLength: 2_048,
      description: 'Session of the message.'
    })
  }),
  args: ['prompt'],
  aliases: { output: 'o' },
  project: true
}

interface GenerateArguments {
  readonly prompt: string
  readonly output?: string
  readonly preview?: boolean
  readonly retries?: number
  readonly unchecked?: boolean
  readonly session?: string
}

/** Returns the handler. Exit codes: 0; 1 if no program compiles; 130 after Ctrl-C. Progress goes to standard error. */
export function runGenerate(generator: Pick<Generator, 'generate'>, projectRoot: string): CommandHandler {
  return async (input, io) => {
    const args = input as unknown as GenerateArguments
    const { prompt, output, preview = false, retries = 2, unchecked = false, session = 'default' } = args
    if (output !== undefined) await sourceTarget(projectRoot, output)
    const before = output === undefined ? null : await readProjectFile(projectRoot, output, FILE_BYTES)
    try {
      const generated = await generator.generate(
        {
          prompt,
          validate: !unchecked,
          max_retries: retries,
          session_id: session,
          output_surface_mode: 'raw_code_only',
          ...(output === undefined || preview ? {} : { output_path: output })
        },
        { signal: io.signal, surface: 'cli', progress: () => {}, emit: event => printEvent(event, io) }
      )
      const old = before !== null && 'text' in before ? before.text : ''
      if (io.json) io.stdout.write(`${JSON.stringify(generated)}\n`)
      else if (output === undefined) io.stdout.write(generated.code)
      else {
        const { createTwoFilesPatch } = await import('diff')
        io.stdout.write(createTwoFilesPatch(output, output, old, generated.code))
      }
      if (!io.json) io.stderr.write(`\n${summary(generated, preview)}\n`)
      return 0
    } catch (error) {
      if (io.signal.aborted) return 130
      if (!isSvcError(error, 'ASI_CODE_INVALID')) throw error
      const { code, report } = error.data as { readonly code: string; readonly report: string }
      if (io.json)
        io.stdout.write(`${JSON.stringify({ valid: false, code, error: error.message, data: error.data })}\n`)
      else io.stderr.write(`\n${report}${error.message}\n`)
      return 1
    }
  }
}

function printEvent(
  event: {
    readonly type: string
    readonly text?: string
    readonly report?: string
    readonly attempt?: number
    readonly of?: number
  },
  io: CommandIo
): void {
  if (io.json) {
    if (event.type !== 'text') io.stderr.write(`${JSON.stringify({ event })}\n`)
  } else if (event.type === 'text') io.stderr.write(event.text ?? '')
  else if (event.type === 'attempt') io.stderr.write(`attempt ${event.attempt} of ${event.of}\n`)
  else io.stderr.write(`\n${event.report}`)
}

function summary(
  { attempts, tokens, model_used, valid, meta }: OutputOf<typeof generateCode>,
  preview: boolean
): string {
  const checked = valid === null ? 'not checked' : 'the compiler accepts it'
  const written =
    meta.file_outcomes?.written_paths.map(path => `wrote ${path}; `).join('') ?? (preview ? 'wrote nothing; ' : '')
  return `${written}${checked}; ${model_used}, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, ${tokens} tokens`
}
