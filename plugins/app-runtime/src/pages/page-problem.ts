import type { Program } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { SentFailure } from '../serving/messages.ts'

/** A problem that pages show in development. All texts are shown as they are. */
export interface PageProblem {
  readonly title: string
  /** Message, with excerpts of the source. */
  readonly text: string
  readonly code: string | null
  readonly hint: string | null
  /** Call stack of the program, innermost function first. */
  readonly calls: readonly string[]
  readonly requestId: string | null
}

/** Lines of the source above and below the failing one. */
const CONTEXT_LINES = 2

/** Describes an error that keeps a saved program from being served. */
export function problemOf(title: string, error: unknown): PageProblem {
  const { code = null, hint = null } = isSvcError(error) ? error : {}
  return { title, text: errorMessage(error), code, hint, calls: [], requestId: null }
}

/** Describes a failed call, with an excerpt of the program. */
export function failedCall(program: Program, endpoint: string, failure: SentFailure, requestId: string): PageProblem {
  const { code, message, hint = null, calls } = failure
  return { title: `${endpoint} failed`, text: withExcerpt(message, program), code, hint, calls, requestId }
}

/** Adds an excerpt of the source to a message that begins with a position in the program. */
function withExcerpt(message: string, { path, text }: Program): string {
  if (!message.startsWith(`${path}:`)) return message
  const [, line, column] = /^:(\d+):(\d+)/.exec(message.slice(path.length)) ?? []
  if (line === undefined) return message
  const at = Number(line)
  const lines = text.split(/\r\n|\n|\r/)
  const first = Math.max(1, at - CONTEXT_LINES)
  const shown = lines.slice(first - 1, at + CONTEXT_LINES)
  const width = String(first + shown.length - 1).length
  const excerpt = shown.flatMap((content, index) => {
    const number = first + index
    const own = `${String(number).padStart(width)} | ${content}`
    // Tabs keep their width below the line.
    const indent = content.slice(0, Number(column) - 1).replaceAll(/[^\t]/g, ' ')
    return number === at ? [own, `${' '.repeat(width)} | ${indent}^`] : [own]
  })
  return `${message}\n\n${excerpt.join('\n')}`
}
