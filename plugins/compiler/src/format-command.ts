import { type CommandDescriptor, type CommandHandler, type CommandIo, t } from '@svc/plugin-sdk'
import { readOrReport, showsColour } from './check-command.ts'
import type { FormattedFile } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { compilerErrors } from './errors.ts'
import type { Work } from './reward.ts'
import type { SourceFile } from './source-file.ts'
import { writeWhole } from './write-whole.ts'

export const formatCommand: CommandDescriptor = {
  command: 'fmt',
  summary: 'Format source files or folders in place',
  input: t.object({
    files: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Files and folders.' }),
    check: t.boolean({ default: false, description: 'Change nothing; exit with 1 if a file would change.' })
  }),
  args: ['files']
}

/** Dependencies of the command. */
export interface Formatter {
  read(paths: readonly string[]): Promise<SourceFile[]>
  format(file: SourceFile): Promise<FormattedFile>
  /** Returns the maximum number of retries for a file that another process keeps changing. */
  retries(): number
  /** Receives what the command did. */
  ended?(work: Work): void
}

interface FormatOutcome {
  readonly path: string
  readonly changed: boolean
  readonly formatted: FormattedFile
}

/**
 * Returns the command handler. Exit codes: 0; 1 for files with errors, unreadable or unwritable files, and unformatted
 * files with `--check`.
 */
export function runFormat(formatter: Formatter): CommandHandler {
  return async (rawInput, io) => {
    const { files, check = false } = rawInput as unknown as {
      readonly files: readonly string[]
      readonly check?: boolean
    }
    const outcomes = await readOrReport(() => formatAll(formatter, files, check), io)
    if (outcomes === null) return 1
    if (io.json) io.stdout.write(`${JSON.stringify(outcomes.map(jsonOf), null, 2)}\n`)
    else printText(outcomes, check, io)
    const errors = outcomes.filter(({ formatted }) => formatted.text === null).length
    if (!check) formatter.ended?.({ kind: 'format', files: outcomes.length, errors, warnings: 0 })
    return errors > 0 || (check && outcomes.some(({ changed }) => changed)) ? 1 : 0
  }
}

async function formatAll(formatter: Formatter, files: readonly string[], check: boolean): Promise<FormatOutcome[]> {
  const outcomes: FormatOutcome[] = []
  for (const file of await formatter.read(files)) outcomes.push(await formatOne(formatter, file, check))
  return outcomes
}

/** Formats one file. If it is saved meanwhile, its new state is formatted; no save is overwritten. */
async function formatOne(formatter: Formatter, original: SourceFile, check: boolean): Promise<FormatOutcome> {
  const { path } = original
  for (let file = original, left = formatter.retries(); ; left--) {
    const formatted = await formatter.format(file)
    const { text } = formatted
    const changed = text !== null && text !== file.text
    if (!changed || check) return { path, changed, formatted }
    const [now] = await formatter.read([path])
    if (now?.text === file.text) {
      await writeWhole(path, text)
      return { path, changed, formatted }
    }
    if (now === undefined || left === 0) {
      throw compilerErrors.create('CMP_FILE_CHANGED', `${path}: the file changed while it was being formatted`, {
        hint: 'nothing was written; run the command again when no other program writes the file',
        at: { file: path }
      })
    }
    file = now
  }
}

function jsonOf({ path, changed, formatted }: FormatOutcome): object {
  const diagnostics = formatted.text === null ? formatted.diagnostics : []
  return { path, changed, diagnostics: diagnostics.map(each => diagnosticJson(each, formatted.file)) }
}

function printText(outcomes: readonly FormatOutcome[], check: boolean, io: CommandIo): void {
  for (const { path, changed, formatted } of outcomes) {
    if (changed) io.stdout.write(`${check ? 'would format' : 'formatted'} ${path}\n`)
    if (formatted.text !== null) continue
    for (const each of formatted.diagnostics) {
      io.stderr.write(`${renderDiagnostic(each, formatted.file, showsColour(io.stderr))}\n\n`)
    }
  }
}
