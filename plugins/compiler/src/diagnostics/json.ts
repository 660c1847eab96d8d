import type { SourceFile } from '../source-file.ts'
import type { Span } from '../syntax/node.ts'
import type { Diagnostic } from './diagnostic.ts'

/** Lines and columns count from 1, columns in characters. The end is exclusive. */
export interface JsonSpan {
  readonly start_line: number
  readonly start_col: number
  readonly end_line: number
  readonly end_col: number
}

/** A diagnostic as `svc check --json` prints it. */
export interface JsonDiagnostic {
  readonly error_code: string
  readonly severity: 'Error' | 'Warning'
  readonly message: string
  readonly file_path: string
  readonly span: JsonSpan
  readonly ast_node_kind: string | null
  readonly missing_cases: string[]
  readonly expected_type: string | null
  readonly found_type: string | null
  readonly correction_hints: string[]
  readonly suggested_fixes: { readonly label: string; readonly replacement: string; readonly span: JsonSpan }[]
  readonly related_spans: { readonly message: string; readonly span: JsonSpan }[]
}

export function diagnosticJson(diagnostic: Diagnostic, file: SourceFile): JsonDiagnostic {
  return {
    error_code: diagnostic.code,
    severity: diagnostic.severity === 'error' ? 'Error' : 'Warning',
    message: diagnostic.message,
    file_path: file.path,
    span: jsonSpan(diagnostic.span, file),
    ast_node_kind: diagnostic.nodeKind,
    missing_cases: [...diagnostic.missingCases],
    expected_type: diagnostic.expectedType,
    found_type: diagnostic.foundType,
    correction_hints: [...diagnostic.suggestions],
    suggested_fixes: diagnostic.fixes.map(({ label, replacement, span }) => ({
      label,
      replacement,
      span: jsonSpan(span, file)
    })),
    related_spans: diagnostic.related.map(({ message, span }) => ({ message, span: jsonSpan(span, file) }))
  }
}

function jsonSpan({ start, end }: Span, file: SourceFile): JsonSpan {
  const from = file.position(start)
  const to = file.position(end)
  return { start_line: from.line, start_col: from.column, end_line: to.line, end_col: to.column }
}
