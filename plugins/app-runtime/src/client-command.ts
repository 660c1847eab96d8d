import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { LanguageCompiler } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, errorMessage, t } from '@svc/plugin-sdk'
import { runErrors } from './errors.ts'
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
    else await writeClientFile(output, text)
    return 0
  }
}

async function writeClientFile(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  } catch (cause) {
    throw runErrors.create('RUN_ARGUMENTS', `${path}: the client cannot be written: ${errorMessage(cause)}`, {
      hint: 'make the file and its folder writable',
      cause
    })
  }
}
