import { type CheckOptions, checkModule } from './check/check.ts'
import { checkViews } from './check-views.ts'
import { type Diagnostic, sortDiagnostics } from './diagnostics/diagnostic.ts'
import { compilerErrors } from './errors.ts'
import { format } from './format/format.ts'
import type { SourceFile } from './source-file.ts'
import type { Module } from './syntax/ast.ts'
import { type ParseResult, parse } from './syntax/parse.ts'
import type { ParserOptions } from './syntax/parser/parser.ts'
import { sameSyntax } from './syntax/same-syntax.ts'
import type { TypedModule } from './types/typed-module.ts'

export type CompileOptions = ParserOptions & CheckOptions

export interface CheckedFile {
  readonly file: SourceFile
  readonly parsed: ParseResult
  /** Syntax errors; if there are none, the findings of the checks. At most 1,000, errors before warnings if there are more. */
  readonly diagnostics: readonly Diagnostic[]
  /** null if the program has syntax errors. */
  readonly types: TypedModule | null
}

/** A text that is no program has an error at every character: reports of all of them would exhaust the memory. */
const MAX_DIAGNOSTICS = 1_000

export function checkFile(file: SourceFile, options: CompileOptions): CheckedFile {
  const parsed = parse(file.text, options)
  if (hasErrors(parsed.diagnostics)) return { file, parsed, diagnostics: firstOf(parsed.diagnostics), types: null }
  const { diagnostics, types } = checkModule(parsed.module, options)
  const found = withViews(parsed.module, file.text, types, diagnostics)
  return { file, parsed, diagnostics: firstOf([...parsed.diagnostics, ...found]), types }
}

/** Adds the findings in views, which only a program without errors has. */
export function withViews(
  module: Module,
  source: string,
  types: TypedModule,
  diagnostics: readonly Diagnostic[]
): readonly Diagnostic[] {
  const found = hasErrors(diagnostics) ? [] : checkViews(module, source, types)
  return found.length === 0 ? diagnostics : sortDiagnostics([...diagnostics, ...found])
}

function firstOf(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  if (diagnostics.length <= MAX_DIAGNOSTICS) return diagnostics
  const of = (wanted: Diagnostic['severity']) => diagnostics.filter(({ severity }) => severity === wanted)
  return [...of('error'), ...of('warning')].slice(0, MAX_DIAGNOSTICS)
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error')
}

export interface FormattedFile {
  readonly file: SourceFile
  /** null for a source with syntax errors. */
  readonly text: string | null
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Formats a module or a script. Formatting must not change a program: the output is parsed again, and its meaning and
 * number of comments are compared. Throws `CMP_FORMAT_UNSAFE` if they differ.
 */
export function formatFile(file: SourceFile): FormattedFile {
  const { parsed, options } = readEitherWay(file)
  if (hasErrors(parsed.diagnostics)) return { file, text: null, diagnostics: firstOf(parsed.diagnostics) }
  const text = format(parsed)
  const again = parse(text, options)
  const isSame =
    sameSyntax(parsed.module.items, again.module.items) &&
    parsed.tokens.comments.length === again.tokens.comments.length &&
    !hasErrors(again.diagnostics)
  if (!isSame) {
    throw compilerErrors.create(
      'CMP_FORMAT_UNSAFE',
      `${file.path}: formatting would change the meaning of the program`,
      {
        hint: 'nothing was changed; please report the file as a bug in the formatter'
      }
    )
  }
  return { file, text, diagnostics: parsed.diagnostics }
}

/** Parses a module or a script. Reports errors as in a module. */
function readEitherWay({ text }: SourceFile): { parsed: ParseResult; options: ParserOptions } {
  const options = { script: false, allowComponentFunctions: true }
  const parsed = parse(text, options)
  if (!hasErrors(parsed.diagnostics)) return { parsed, options }
  const script = { ...options, script: true }
  const parsedScript = parse(text, script)
  return hasErrors(parsedScript.diagnostics) ? { parsed, options } : { parsed: parsedScript, options: script }
}
