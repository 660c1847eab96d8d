import type { SourceFile } from '../source-file.ts'
import type { Span } from '../syntax/node.ts'
import type { Diagnostic } from './diagnostic.ts'

const CODES = { bold: 1, red: 31, yellow: 33, blue: 34, cyan: 36 } as const

/** Maximum characters of a line in an excerpt, and how many of them precede the span in a longer line. */
const MAX_EXCERPT_CHARS = 240
const CHARS_BEFORE = 80

type Paint = (colour: keyof typeof CODES, text: string) => string

/** Formats a diagnostic for users: message, position, an excerpt with the span marked, and suggestions. */
export function renderDiagnostic(diagnostic: Diagnostic, file: SourceFile, colour: boolean): string {
  const paint: Paint = (name, text) => (colour ? `\u001b[1;${CODES[name]}m${text}\u001b[0m` : text)
  const isError = diagnostic.severity === 'error'
  const main = isError ? 'red' : 'yellow'
  const width = String(
    Math.max(
      ...[diagnostic.span, ...diagnostic.related.map(({ span }) => span)].map(span => file.position(span.start).line)
    )
  ).length
  const lines = [
    `${paint(main, `${diagnostic.severity}[${diagnostic.code}]`)}${paint('bold', `: ${diagnostic.message}`)}`,
    ...excerpt(diagnostic.span, file, width, paint, main)
  ]
  const addNote = (label: string, text: string): void => {
    lines.push(`${' '.repeat(width)} ${paint('blue', '=')} ${paint('cyan', label)}: ${text}`)
  }
  if (diagnostic.expectedType !== null) addNote('expected', `\`${diagnostic.expectedType}\``)
  if (diagnostic.foundType !== null) addNote('found', `\`${diagnostic.foundType}\``)
  if (diagnostic.missingCases.length > 0)
    addNote('missing', diagnostic.missingCases.map(each => `\`${each}\``).join(', '))
  for (const suggestion of diagnostic.suggestions) addNote('help', suggestion)
  for (const { label } of diagnostic.fixes) if (!diagnostic.suggestions.includes(label)) addNote('fix', label)
  for (const { span, message } of diagnostic.related) {
    lines.push(`${paint('cyan', 'note')}: ${message}`, ...excerpt(span, file, width, paint, 'cyan'))
  }
  return lines.join('\n')
}

/** Formats a diagnostic on one line: `error[E0001]: message at file:line:column`. */
export function diagnosticLine({ severity, code, message, span }: Diagnostic, file: SourceFile): string {
  const { line, column } = file.position(span.start)
  return `${severity}[${code}]: ${message} at ${file.path}:${line}:${column}`
}

function excerpt(span: Span, file: SourceFile, width: number, paint: Paint, colour: keyof typeof CODES): string[] {
  const { line, column } = file.position(span.start)
  const text = file.lineText(line)
  const lineStart = file.lineStart(line)
  const at = span.start - lineStart
  const from = text.length > MAX_EXCERPT_CHARS ? Math.max(0, at - CHARS_BEFORE) : 0
  const to = Math.min(text.length, from + MAX_EXCERPT_CHARS)
  const before = (from > 0 ? '…' : '') + widened(text.slice(from, at))
  const marked = widened(text.slice(at, Math.min(span.end - lineStart, to)))
  const shown = (from > 0 ? '…' : '') + widened(text.slice(from, to)) + (to < text.length ? '…' : '')
  const bar = paint('blue', '|')
  const carets = '^'.repeat(Math.max(1, [...marked].length))
  return [
    `${' '.repeat(width)}${paint('blue', '-->')} ${file.path}:${line}:${column}`,
    `${' '.repeat(width)} ${bar}`,
    `${paint('blue', String(line).padStart(width))} ${bar} ${shown}`.trimEnd(),
    `${' '.repeat(width)} ${bar} ${' '.repeat([...before].length)}${paint(colour, carets)}`
  ]
}

/** Expands tabs to four spaces and removes control characters. */
function widened(text: string): string {
  return text.replaceAll('\t', '    ').replace(/[\p{Cc}\p{Cs}]/gu, '\ufffd')
}
