import { writeFile } from 'node:fs/promises'
import type { LanguageCompiler } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'
import { compiled } from './run-command.ts'

export const clientCommand: CommandDescriptor = {
  command: 'client',
  summary: 'Write a typed client of a program in TypeScript',
  input: t.object({
    file: t.string({ minLength: 1, description: 'The source file.' }),
    output: t.optional(t.string({ minLength: 1, description: 'Output file; default: standard output.' }))
  }),
  args: ['file'],
  aliases: { output: 'o' }
}

/** Runs `svc client`. Exit codes: 0; 1 if the file has errors. */
export function writeClient(compiler: LanguageCompiler): CommandHandler {
  return async (given, io) => {
    const { file, output } = given as { readonly file: string; readonly output?: string }
    const program = await compiled(compiler, file, false, io)
    if (program === null) return 1
    const text = compiler.describe(program).client
    if (output === undefined) io.stdout.write(text)
    else await writeFile(output, text)
    return 0
  }
}
