import { summariseStatement } from '@svc/contracts'
import { defined, type Logger } from '@svc/plugin-sdk'
import type { LoggedStatement } from '../database/sql-log.ts'
import type { LogLine } from '../interpreter/host.ts'
import type { EndedCall } from '../serving/messages.ts'
import { isOfEngine } from '../workflows/prepare-tables.ts'
import type { AppCall } from './call-log.ts'
import { type RowLog, type RowLogState, rowLogState } from './row-log.ts'

/** Topic that is announced after each row of the activity of served programs. */
export const ACTIVITY_TOPIC = 'app-runtime.activity'

/** Something that a program did while it is developed. Contains no values of the program, except its own log lines. */
export interface AppEvent {
  readonly app: string
  readonly time: number
  /** request: an HTTP request was answered. call: a schedule, a tool or a live query ran. */
  readonly event: 'request' | 'call' | 'sql' | 'live' | LogLine['level']
  /** Method and path, SQL and its failure, name of the function, or text of the log line. */
  readonly text: string
  readonly function: string | null
  readonly status: number | null
  readonly ms: number | null
  /** Number of bound values. */
  readonly values: number | null
  readonly rows: number | null
  readonly changed: number | null
  /** Code of the failure of a statement. */
  readonly error: string | null
  /** Clients that received a live update. */
  readonly clients: number | null
  readonly request_id: string | null
}

const CAPACITY = 1_000
/** Maximum characters of a log line in a row. */
const MAX_TEXT = 4_096

export type ActivityLog = RowLog<AppEvent>

export function activityLogState(): RowLogState<AppEvent> {
  return rowLogState(CAPACITY)
}

export interface ActivityParts {
  readonly app: string
  readonly log: Logger
  readonly rows: ActivityLog
  /** Replaces known secrets in a text. */
  readonly mask: (text: string) => string
  /** Called after each row. */
  readonly changed: () => void
}

type Request = Pick<AppCall, 'method' | 'path' | 'status' | 'ms' | 'request_id'> & { readonly name: string | null }

/** Shows a developer what a program does: in the log, and as rows for the console. */
export class Activity {
  readonly #parts: ActivityParts

  constructor(parts: ActivityParts) {
    this.#parts = parts
  }

  /** Shows an HTTP request after its response was sent. */
  request({ method, path, name, status, ms, request_id }: Request): void {
    this.#show('request', `${method} ${path}`, { function: name, status, ms: shortMs(ms), request_id })
  }

  /** Shows the statements of a call, those of the workflow engine in one line; without a request, also the call. */
  call({ name, ms, status, statements, statementCount }: EndedCall, requestId: string | null): void {
    const { own, engine } = divided(statements)
    for (const { sql, ms: duration, values, rows, changed, error } of own) {
      const { text } = summariseStatement(sql)
      this.#show('sql', text, {
        function: name,
        ms: shortMs(duration),
        values,
        rows,
        changed,
        error,
        request_id: requestId
      })
    }
    if (engine.length > 0) {
      const text = `${engine.length} ${engine.length === 1 ? 'statement' : 'statements'} of the workflow engine`
      const total = engine.reduce((sum, each) => sum + each.ms, 0)
      this.#show('sql', text, { function: name, ms: shortMs(total), request_id: requestId })
    }
    const omitted = statementCount - statements.length
    if (omitted > 0) this.#show('sql', `${omitted} more statements`, { function: name, request_id: requestId })
    if (requestId === null) this.#show('call', name, { status, ms: shortMs(ms) })
  }

  /** Shows that clients received a new result of a query, or changes of a topic. */
  live(source: string, clients: number): void {
    this.#show('live', source, { clients })
  }

  /** Adds a line of the program, which the log already has. */
  line({ level, text }: LogLine, requestId: string | undefined): void {
    const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
    this.#add(level, this.#parts.mask(shown), { request_id: requestId ?? null })
  }

  #show(event: AppEvent['event'], text: string, details: Details): void {
    const fields = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null))
    this.#parts.log.info(text, { event, ...fields })
    this.#add(event, this.#parts.mask(described(text, details)), details)
  }

  #add(event: AppEvent['event'], text: string, details: Details): void {
    const { app, rows, changed } = this.#parts
    rows.record({ ...NOTHING, app, time: Date.now(), event, text, ...defined(details) })
    changed()
  }
}

/**
 * Divides the statements of a call into those of the program, and successful ones of the workflow engine. A COMMIT is of the
 * program if one of its statements precedes it in the transaction.
 */
function divided(statements: readonly LoggedStatement[]): Record<'own' | 'engine', LoggedStatement[]> {
  const parts: Record<'own' | 'engine', LoggedStatement[]> = { own: [], engine: [] }
  let [hasOwn, hasEngine] = [false, false]
  for (const each of statements) {
    const isCommit = each.sql === 'COMMIT'
    const isEngine = each.error === null && (isCommit ? hasEngine && !hasOwn : isOfEngine(each.sql))
    parts[isEngine ? 'engine' : 'own'].push(each)
    hasOwn = !isCommit && (hasOwn || !isEngine)
    hasEngine = !isCommit && (hasEngine || isEngine)
  }
  return parts
}

type Details = Partial<Omit<AppEvent, 'app' | 'time' | 'event' | 'text'>>

const NOTHING = {
  function: null,
  status: null,
  ms: null,
  values: null,
  rows: null,
  changed: null,
  error: null,
  clients: null,
  request_id: null
}

/** Adds the outcome that has no column in the console. */
function described(text: string, { clients, error }: Details): string {
  if (typeof error === 'string') return `${text}: ${error}`
  return typeof clients === 'number' ? `${text}, ${clients} ${clients === 1 ? 'client' : 'clients'}` : text
}

function shortMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
