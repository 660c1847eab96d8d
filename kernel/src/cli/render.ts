import { type CliView, type ConfigProblem, errorDocs, errorMessage, isOwnCode, isSvcError } from '@svc/plugin-sdk'
import { type PlainText, withoutMarkdown } from './plain-text.ts'
import { headingOf, renderTable, timed } from './table.ts'
import type { Terminal } from './terminal.ts'
import { withoutControl, withoutControlExceptColour } from './text.ts'

/** Renders a result by the operation's view, or as indented JSON if it has none. */
export function renderResult(output: unknown, view: CliView | undefined, terminal: Terminal): string {
  const fields = (output ?? {}) as Readonly<Record<string, unknown>>
  if (view?.text !== undefined) return withoutControlExceptColour(String(fields[view.text] ?? ''))
  if (view?.markdown !== undefined)
    return renderMarkdown(withoutControlExceptColour(String(fields[view.markdown] ?? '')), terminal)
  if (view?.rows !== undefined) {
    const rows = (fields[view.rows] ?? []) as Record<string, unknown>[]
    const table = renderTable(rows, view.columns ?? Object.keys(rows[0] ?? {}), terminal)
    const note = view.note === undefined ? undefined : fields[view.note]
    return typeof note === 'string' && note !== '' ? `${table}\n\n${withoutControlExceptColour(note)}` : table
  }
  if (view?.fields !== undefined && typeof output !== 'string') {
    const rows = view.fields.flatMap(path => {
      const value = valueAt(output, path)
      return value === undefined ? [] : [{ field: headingOf(path).replaceAll('_', ' '), value: timed(path, value) }]
    })
    return renderTable(rows, ['field', 'value'], terminal)
  }
  return withoutControlExceptColour(typeof output === 'string' ? output : JSON.stringify(output, null, 2))
}

/** Renders Markdown as plain text: headings become bold and lose their hash signs. Lists do not change. */
function renderMarkdown(text: string, terminal: Terminal): string {
  return withoutMarkdown(text).replace(/^#{1,6} +(.+)$/gm, (_, heading: string) => terminal.paint('bold', heading))
}

function valueAt(output: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], output)
}

/**
 * Renders location, message, code and hint of an error, or of each problem of an invalid configuration. Only an unexpected
 * error has its stack.
 */
export function renderError(error: unknown, terminal: Terminal, plain: PlainText = withoutMarkdown): string {
  if (!isSvcError(error)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return `${terminal.paint('red', 'error:')} ${text}`
  }
  const { problems } = (error.data ?? {}) as { readonly problems?: unknown }
  const each = error.code.startsWith('CFG_') && Array.isArray(problems) ? (problems as ConfigProblem[]) : []
  if (each.length > 0) return each.map(problem => renderBlock(problem.severity, problem, terminal, plain)).join('\n')
  return renderBlock(
    'error',
    { ...error.at, code: error.code, message: error.message, hint: error.hint, docs: error.docs },
    terminal,
    plain
  )
}

interface Block {
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
  readonly docs?: string | undefined
}

function renderBlock(
  severity: 'error' | 'warning',
  { file, line, column, code, message, hint, docs }: Block,
  terminal: Terminal,
  plain: PlainText
): string {
  const place = file === undefined ? '' : [file, line, column].filter(part => part !== undefined).join(':')
  // A location that the message contains is not repeated.
  const head = place === '' || message.includes(place) ? '' : `${place}  `
  const label = terminal.paint(severity === 'error' ? 'red' : 'yellow', `${severity}:`)
  const lines = [`${label} ${withoutControl(`${head}${plain(message)}`)}`]
  if (!message.includes(code)) lines.push(`  code: ${code}`)
  // A hint is the next step; without one, the explanation of the code is.
  const more = isOwnCode(code) ? `svc errors explain ${code}` : docs
  if (hint !== undefined) lines.push(`  hint: ${withoutControl(plain(hint))}`)
  else if (more !== undefined) lines.push(`  more: ${withoutControl(more)}`)
  return lines.join('\n')
}

/** Converts an error to JSON without undefined members. */
export function errorJson(error: unknown): object {
  if (!isSvcError(error)) return { error: { code: 'OPR_FAILED', message: errorMessage(error) } }
  const { code, message, hint, at, data, plugin } = error
  return { error: { code, message, hint, at, data, plugin, docs: errorDocs(error) } }
}
