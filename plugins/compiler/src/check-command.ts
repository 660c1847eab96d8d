import type { RuntimeProjection } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import type { CheckedFile } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { diagnosticLine, renderDiagnostic } from './diagnostics/render.ts'
import type { Work } from './reward.ts'
import type { SourceFile } from './source-file.ts'
import { writeWhole } from './write-whole.ts'

export const checkCommand: CommandDescriptor = {
  command: 'check',
  summary: 'Check source files or folders',
  input: t.object({
    files: t.array(t.string({ minLength: 1 }), { minItems: 1, description: 'Files and folders.' }),
    format: t.optional(
      t.enum(['text', 'lines', 'json'], {
        description:
          'Output format: text with excerpts, one line per finding, or JSON. Default: text; with --json, JSON.'
      })
    ),
    output_format: t.optional(t.enum(['text', 'lines', 'json'], { description: 'Synonym of format.' })),
    script: t.boolean({ default: false, description: 'Accept top-level statements next to declarations.' }),
    strict: t.boolean({
      default: false,
      description: 'Treat unresolved external names as errors.'
    }),
    emit_ir: t.boolean({
      default: false,
      description: 'Write the IR document of a single file to the standard output, and findings to the standard error.'
    }),
    emit_projection: t.boolean({
      default: false,
      description:
        'Write the runtime projection of a single file, its requirements on the runtime, to the standard output.'
    }),
    out: t.optional(
      t.string({ minLength: 1, description: 'Write the document to this file instead of the standard output.' })
    )
  }),
  args: ['files'],
  aliases: { format: 'f' }
}

type OutputFormat = 'text' | 'lines' | 'json'

interface CheckInput {
  readonly files: readonly string[]
  readonly format?: OutputFormat
  readonly output_format?: OutputFormat
  readonly script?: boolean
  readonly strict?: boolean
  readonly emit_ir?: boolean
  readonly emit_projection?: boolean
  readonly out?: string
}

/** Dependencies of the command. */
export interface Checker {
  read(paths: readonly string[]): Promise<SourceFile[]>
  check(file: SourceFile, script: boolean, strict: boolean): Promise<CheckedFile>
  project(checked: CheckedFile): RuntimeProjection
  /** Receives what the command did. */
  ended?(work: Work): void
}

/**
 * Returns the command handler. Exit codes: 0; 1 for files with errors or unreadable files; 2 for conflicting options.
 * JSON findings go to the standard output, or to the standard error if a document is printed. A file with errors has no
 * document.
 */
export function runCheck(checker: Checker): CommandHandler {
  return async (rawInput, io) => {
    const input = rawInput as unknown as CheckInput
    const {
      files,
      output_format,
      script = false,
      strict = false,
      emit_ir = false,
      emit_projection = false,
      out
    } = input
    const { format = output_format ?? (io.json ? 'json' : 'text') } = input
    if (format !== (output_format ?? format)) return misuse(io, '--format and --output-format differ; use one of them')
    if (emit_ir && emit_projection)
      return misuse(io, '--emit-ir and --emit-projection each write a document; use one of them')
    const emits = emit_ir || emit_projection
    if (out !== undefined && !emits) {
      return misuse(io, '--out has no effect without a document; add --emit-ir or --emit-projection')
    }
    const sources = await readOrReport(() => checker.read(files), io)
    if (sources === null) return 1
    const [first] = sources
    if (emits && (first === undefined || sources.length > 1)) {
      return misuse(io, `--emit-${emit_ir ? 'ir' : 'projection'} requires exactly one file, found ${sources.length}`)
    }
    const checked: CheckedFile[] = []
    for (const source of sources) checked.push(await checker.check(source, script, strict))
    if (format === 'json') {
      const stream = emits && out === undefined ? io.stderr : io.stdout
      stream.write(`${JSON.stringify(findings(checked), null, 2)}\n`)
    } else printText(checked, format, io)
    const [errors, warnings] = [countOf(checked, 'error'), countOf(checked, 'warning')]
    checker.ended?.({ kind: 'check', files: sources.length, errors, warnings })
    if (errors > 0) return 1
    const document = emit_ir ? irText : (file: CheckedFile) => `${JSON.stringify(checker.project(file), null, 2)}\n`
    const written = emits ? await readOrReport(() => emit(checked, document, out, io), io) : true
    return written === null ? 1 : 0
  }
}

function misuse(io: CommandIo, message: string): number {
  io.stderr.write(io.json ? `${JSON.stringify({ error: { message } })}\n` : `error: ${message}\n`)
  return 2
}

async function irText({ parsed, file }: CheckedFile): Promise<string> {
  // Loads the validator only when a document is printed.
  const { irDocument, printIr } = await import('./ir-document.ts')
  return printIr(irDocument(parsed.module, file.text, new Date()))
}

async function emit(
  checked: readonly CheckedFile[],
  document: (checked: CheckedFile) => string | Promise<string>,
  out: string | undefined,
  io: CommandIo
): Promise<true> {
  for (const each of checked) {
    const text = await document(each)
    if (out === undefined) io.stdout.write(text)
    else await writeWhole(out, text)
  }
  return true
}

/** Returns the result of `read`; null after reporting that a file could not be read or written. */
export async function readOrReport<A>(read: () => Promise<A>, io: CommandIo): Promise<A | null> {
  try {
    return await read()
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message, hint } = error
    const text = io.json ? JSON.stringify({ error: { code, message, hint } }) : `error: ${message}\n  hint: ${hint}`
    io.stderr.write(`${text}\n`)
    return null
  }
}

/** True if ANSI colours may be written to the stream. */
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
  const checkedFiles = checked.length === 1 ? (checked[0]?.file.path ?? '') : `${checked.length} files`
  const counts = [
    errors > 0 ? plural(errors, 'error') : 'no errors',
    ...(warnings > 0 ? [plural(warnings, 'warning')] : [])
  ]
  io.stderr.write(`checked ${checkedFiles}: ${counts.join(', ')}\n`)
}

function countOf(checked: readonly CheckedFile[], severity: 'error' | 'warning'): number {
  return checked.flatMap(({ diagnostics }) => diagnostics).filter(each => each.severity === severity).length
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
