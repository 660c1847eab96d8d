import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import type { CheckedFile } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { diagnosticLine, renderDiagnostic } from './diagnostics/render.ts'
import type { SourceFile } from './source-file.ts'

export const checkCommand: CommandDescriptor = {
  command: 'check',
  summary: 'Checks source files, or all of a folder, and shows what is wrong with them',
  input: t.object({
    files: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Files and folders.' }),
    format: t.optional(
      t.enum(['text', 'lines', 'json'], {
        description: 'text with excerpts, one line for each finding, or JSON; default text, and JSON with --json.'
      })
    ),
    script: t.boolean({ default: false, description: 'Read loose statements beside declarations.' })
  }),
  args: ['files'],
  aliases: { format: 'f' }
}

interface CheckInput {
  readonly files: readonly string[]
  readonly format?: 'text' | 'lines' | 'json'
  readonly script?: boolean
}

/** What the command asks of the plugin. */
export interface Checker {
  read(paths: readonly string[]): Promise<SourceFile[]>
  check(file: SourceFile, script: boolean): Promise<CheckedFile>
}

/** Exit codes: 0, and 1 for files with errors or that cannot be read. Findings as JSON go to the standard output. */
export function runCheck(checker: Checker): CommandHandler {
  return async (given, io) => {
    const { files, format = io.json ? 'json' : 'text', script = false } = given as unknown as CheckInput
    const sources = await readOrTell(() => checker.read(files), io)
    if (sources === null) return 1
    const checked: CheckedFile[] = []
    for (const source of sources) checked.push(await checker.check(source, script))
    if (format === 'json') io.stdout.write(`${JSON.stringify(findings(checked), null, 2)}\n`)
    else printText(checked, format, io)
    return countOf(checked, 'error') > 0 ? 1 : 0
  }
}

/** What `read` gives; null after saying that a file could not be read. */
export async function readOrTell<A>(read: () => Promise<A>, io: CommandIo): Promise<A | null> {
  try {
    return await read()
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message, hint } = error
    const told = io.json ? JSON.stringify({ error: { code, message, hint } }) : `error: ${message}\n  hint: ${hint}`
    io.stderr.write(`${told}\n`)
    return null
  }
}

/** Whether escapes for colours may be written to a stream. */
export function showsColour(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env.NO_COLOR ?? '') === ''
}

function findings(checked: readonly CheckedFile[]): object[] {
  return checked.flatMap(({ file, diagnostics }) => diagnostics.map(each => diagnosticJson(each, file)))
}

function printText(checked: readonly CheckedFile[], format: 'text' | 'lines', io: CommandIo): void {
  const colour = showsColour(io.stderr)
  for (const { file, diagnostics } of checked) {
    for (const each of diagnostics) {
      io.stderr.write(
        format === 'lines' ? `${diagnosticLine(each, file)}\n` : `${renderDiagnostic(each, file, colour)}\n\n`
      )
    }
  }
  const errors = countOf(checked, 'error')
  const warnings = countOf(checked, 'warning')
  const where = checked.length === 1 ? (checked[0]?.file.path ?? '') : `${checked.length} files`
  const counts = [
    errors > 0 ? plural(errors, 'error') : 'no errors',
    ...(warnings > 0 ? [plural(warnings, 'warning')] : [])
  ]
  io.stderr.write(`checked ${where}: ${counts.join(', ')}\n`)
}

function countOf(checked: readonly CheckedFile[], severity: 'error' | 'warning'): number {
  return checked.flatMap(({ diagnostics }) => diagnostics).filter(each => each.severity === severity).length
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
