import type { Span } from '../syntax/node.ts'
import { type Category, type DiagnosticCode, diagnosticCodes, type Severity } from './codes.ts'

/** A message of the compiler about a span of one file. Spans are UTF-16 offsets into that file. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  readonly severity: Severity
  readonly category: Category
  readonly message: string
  readonly span: Span
  readonly expectedType: string | null
  readonly foundType: string | null
  readonly missingCases: readonly string[]
  /** Suggested steps, as sentences. */
  readonly suggestions: readonly string[]
  readonly fixes: readonly Fix[]
  readonly related: readonly RelatedSpan[]
  /** Kind of the syntax that was being parsed or checked. */
  readonly nodeKind: string | null
}

/** An edit that resolves the diagnostic. */
export interface Fix {
  readonly label: string
  readonly span: Span
  readonly replacement: string
}

export interface RelatedSpan {
  readonly span: Span
  readonly message: string
}

export type DiagnosticDetails = Partial<
  Pick<
    Diagnostic,
    'severity' | 'expectedType' | 'foundType' | 'missingCases' | 'suggestions' | 'fixes' | 'related' | 'nodeKind'
  >
>

/** Creates a diagnostic. The table of codes defines its severity and category. */
export function diagnostic(
  code: DiagnosticCode,
  message: string,
  span: Span,
  details: DiagnosticDetails = {}
): Diagnostic {
  const { severity, category } = diagnosticCodes[code]
  return {
    code,
    severity: details.severity ?? severity,
    category,
    message,
    span: { start: span.start, end: span.end },
    expectedType: details.expectedType ?? null,
    foundType: details.foundType ?? null,
    missingCases: details.missingCases ?? [],
    suggestions: details.suggestions ?? [],
    fixes: details.fixes ?? [],
    related: details.related ?? [],
    nodeKind: details.nodeKind ?? null
  }
}

/** Returns details with a fix that writes the nearest known name; no fix if no name is similar. */
export function spellingFix(
  near: string | undefined,
  span: Span,
  replacement = near
): Pick<DiagnosticDetails, 'fixes'> {
  return near === undefined || replacement === undefined
    ? {}
    : { fixes: [{ label: `write ${near}`, span, replacement }] }
}

/** Sorts diagnostics in source order; at one position, errors first. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return [...diagnostics].sort(
    (a, b) =>
      a.span.start - b.span.start ||
      Number(a.severity === 'warning') - Number(b.severity === 'warning') ||
      a.span.end - b.span.end ||
      (a.code < b.code ? -1 : a.code > b.code ? 1 : 0)
  )
}
