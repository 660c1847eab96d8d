import type { CompileResult, RuntimeProjection } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { type CheckedFile, type CompileOptions, checkFile, formatFile, hasErrors } from '../compile.ts'
import { compileResult } from '../compile-result.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { diagnosticJson, type JsonDiagnostic } from '../diagnostics/json.ts'
import { renderDiagnostic } from '../diagnostics/render.ts'
import type { IrModule } from '../ir/ir.ts'
import { lower } from '../ir/lower.ts'
import { hostProbe } from '../projection/host-probe.ts'
import { runtimeProjection } from '../projection/runtime-projection.ts'
import { SourceFile } from '../source-file.ts'

/** Work of the compiler on one source, as plain data, so that a thread can do it. */
export interface CompileJob {
  readonly kind: keyof Results
  /** Path for messages. */
  readonly path: string
  readonly text: string
  readonly options: CompileOptions
  /** Whether the run reports the HIR of a valid program. */
  readonly reportsHir: boolean
  /** Whether a projection describes this machine. */
  readonly probesHost: boolean
}

/** Results by the kind of the job. */
export interface Results {
  readonly check: { readonly ok: boolean; readonly diagnostics: JsonDiagnostic[]; readonly text: string }
  readonly format: { readonly formatted: string; readonly changed: boolean }
  readonly ir: unknown
  readonly projection: RuntimeProjection
  readonly stages: StageResult
  readonly program: CompileResult
}

/** First stage that fails; null if there is none. */
export interface StageResult {
  readonly failure: {
    readonly stage: 'parse' | 'check' | 'lower'
    readonly errors: number
    readonly line: number | null
    readonly message: string
  } | null
  readonly warnings: number
}

/** One run of the compiler, for the log. */
export interface RunEntry {
  readonly action: 'check' | 'format'
  readonly path: string
  readonly lines: number
  readonly errors: number
  readonly warnings: number
  readonly milliseconds: number
  readonly hir?: IrModule
}

export interface JobFailure {
  readonly code: 'CMP_SOURCE_INVALID' | 'CMP_FORMAT_UNSAFE' | 'CMP_IR_INVALID'
  readonly message: string
  readonly hint?: string
  readonly data?: object
}

export type JobOutcome<A> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly failure: JobFailure }

export interface JobResult<K extends keyof Results = keyof Results> {
  /** Undefined if the job failed before the compiler reported anything. */
  readonly run?: RunEntry
  readonly outcome: JobOutcome<Results[K]>
}

/** Does a job. A program with errors, and one that the formatter cannot handle, are failures; others are thrown. */
export async function doJob(job: CompileJob): Promise<JobResult> {
  const file = new SourceFile(job.path, job.text)
  const startedAt = performance.now()
  if (job.kind === 'format') return formatted(file, startedAt)
  const checked = checkFile(file, job.options)
  const hir = job.reportsHir && !hasErrors(checked.diagnostics) ? lowered(checked) : undefined
  const run = entry('check', file, checked.diagnostics, startedAt, hir)
  if (job.kind === 'check') return { run, outcome: { ok: true, value: checkResult(checked) } }
  if (job.kind === 'stages') return { run, outcome: { ok: true, value: stagesOf(checked) } }
  if (job.kind === 'program') return { run, outcome: { ok: true, value: compileResult(checked) } }
  const failure = errorsOf(checked)
  if (failure !== null) return { run, outcome: { ok: false, failure } }
  try {
    const value = job.kind === 'ir' ? await irOf(checked) : projected(checked, job.probesHost)
    return { run, outcome: { ok: true, value } }
  } catch (error) {
    return { run, outcome: failed(error) }
  }
}

function formatted(file: SourceFile, startedAt: number): JobResult {
  try {
    const { text, diagnostics } = formatFile(file)
    const run = entry('format', file, diagnostics, startedAt)
    if (text !== null) return { run, outcome: { ok: true, value: { formatted: text, changed: text !== file.text } } }
    const [first] = diagnostics
    const problem = first === undefined ? '' : `: ${placed(first, file)}`
    const data = { diagnostics: diagnostics.map(each => diagnosticJson(each, file)) }
    const message = `${file.path} cannot be formatted${problem}`
    return { run, outcome: { ok: false, failure: { code: 'CMP_SOURCE_INVALID', message, data } } }
  } catch (error) {
    return { outcome: failed(error) }
  }
}

function checkResult({ file, diagnostics }: CheckedFile): Results['check'] {
  return {
    ok: diagnostics.every(({ severity }) => severity !== 'error'),
    diagnostics: diagnostics.map(each => ({ ...diagnosticJson(each, file) })),
    text: diagnostics.map(each => renderDiagnostic(each, file, false)).join('\n\n')
  }
}

function stagesOf(checked: CheckedFile): StageResult {
  const { file, parsed, diagnostics } = checked
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const [first] = errors
  if (first !== undefined) {
    const stage = hasErrors(parsed.diagnostics) ? 'parse' : 'check'
    const { line } = file.position(first.span.start)
    return { failure: { stage, errors: errors.length, line, message: first.message }, warnings: 0 }
  }
  try {
    lowered(checked)
  } catch (error) {
    return { failure: { stage: 'lower', errors: 1, line: null, message: (error as Error).message }, warnings: 0 }
  }
  return { failure: null, warnings: diagnostics.length }
}

function errorsOf({ file, diagnostics }: CheckedFile): JobFailure | null {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const [first] = errors
  if (first === undefined) return null
  const data = { diagnostics: errors.map(each => diagnosticJson(each, file)) }
  return { code: 'CMP_SOURCE_INVALID', message: `${file.path} has errors: ${placed(first, file)}`, data }
}

function placed({ message, span }: Diagnostic, file: SourceFile): string {
  return `${message} (line ${file.position(span.start).line})`
}

async function irOf({ parsed, file }: CheckedFile): Promise<unknown> {
  const { irDocument, printIr } = await import('../ir-document.ts')
  // Ints beyond 2^53 lose digits here: an operation cannot return bigints.
  return JSON.parse(printIr(irDocument(parsed.module, file.text, new Date())))
}

function projected(checked: CheckedFile, probesHost: boolean): RuntimeProjection {
  return runtimeProjection(lowered(checked), probesHost ? hostProbe() : null)
}

function lowered({ parsed, file, types }: CheckedFile): IrModule {
  return lower(parsed.module, file.text, { records: types?.records ?? new Map() })
}

function failed(error: unknown): { readonly ok: false; readonly failure: JobFailure } {
  if (!isSvcError(error, 'CMP_FORMAT_UNSAFE') && !isSvcError(error, 'CMP_IR_INVALID')) throw error
  const { message, hint, data } = error
  const code = error.code as JobFailure['code']
  return { ok: false, failure: { code, message, ...defined({ hint, data: data as object | undefined }) } }
}

export function entry(
  action: RunEntry['action'],
  file: SourceFile,
  diagnostics: readonly Diagnostic[],
  startedAt: number,
  hir?: IrModule
): RunEntry {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  return {
    action,
    path: file.path,
    lines: file.position(file.text.length).line,
    errors,
    warnings: diagnostics.length - errors,
    milliseconds: Math.round((performance.now() - startedAt) * 1000) / 1000,
    ...defined({ hir })
  }
}
