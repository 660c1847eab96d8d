import { type Call, type DeltaInput, waitForAbort } from '@svc/plugin-sdk'
import { FileTail } from './file-tail.ts'
import { type LogFilter, logFilter } from './filters.ts'
import { type LogEntry, parseLogEntry, renderDetails, renderLogEntry } from './log-entry.ts'
import { readLogLines } from './log-file.ts'
import { type LogStore, parsedLines } from './log-store.ts'
import { RingFeed } from './ring-feed.ts'

export interface LogSource {
  /** Null in the process of a single command, which has no server log in memory: it reads the log files. */
  readonly store: LogStore | null
  readonly path: string
}

export interface LogsInput extends LogFilter {
  readonly follow: boolean
  readonly limit: number
}

/** Maximum length of the text of one line in a feed. */
const MAX_TEXT = 4_000

/** Returns the handler of `observability.logs`. */
export function logsHandler({ store, path }: LogSource) {
  return async ({ follow, limit, ...filter }: LogsInput, call: Pick<Call<never, string>, 'emit' | 'signal'>) => {
    const wanted = logFilter(filter)
    const { request } = filter
    // Created before the file is read, so that no line between the two is lost.
    const tail = store !== null || !follow ? null : new FileTail(path)
    const found = await linesOf({ store, path }, request, wanted)
    const before = newest(found, limit)
    if (!follow) {
      const none = request === undefined || found.length > 0 ? '' : noLines(request)
      return { lines: before.map(plain), text: before.map(renderLogEntry).join('\n') || none }
    }
    for (const entry of before) call.emit(`${renderLogEntry(entry)}\n`)
    const news = (line: string): void => {
      const entry = parseLogEntry(line)
      if (entry !== null && wanted(entry)) call.emit(`${renderLogEntry(entry)}\n`)
    }
    if (tail !== null) await tail.follow(news, call.signal)
    else {
      const end = store?.follow(news)
      await waitForAbort(call.signal)
      end?.()
    }
    return { lines: [], text: '' }
  }
}

/** Returns the handler of `observability.logs.feed`. */
export function logsFeedHandler(store: LogStore) {
  const feed = new RingFeed(store.ring, line => {
    const entry = parseLogEntry(line)
    if (entry === null) return null
    const { time, level, plugin, message, fields } = entry
    const request_id = typeof fields.request_id === 'string' ? fields.request_id : null
    return { time, level, plugin, message: cut(message), request_id, details: cut(renderDetails(entry)) }
  })
  return (input: DeltaInput) => feed.read(input)
}

/** Returns log lines of a request, or all lines, oldest first. */
export async function linesOf(
  { store, path }: LogSource,
  request: string | undefined,
  wanted: (entry: LogEntry) => boolean
): Promise<LogEntry[]> {
  const live = store === null ? [] : store.entries().filter(wanted)
  // Other processes of the project, such as `svc run`, append to the same file.
  if (store !== null && (request === undefined || live.length > 0)) return live
  return (await storedLines(path, request)).filter(wanted)
}

export async function storedLines(path: string, request: string | undefined): Promise<LogEntry[]> {
  return parsedLines(await readLogLines(path, textOfRequest(request)))
}

/** Text that every stored line of a request contains. */
export function textOfRequest(request: string | undefined): string | undefined {
  return request === undefined ? undefined : JSON.stringify(request)
}

export function newest<A>(items: readonly A[], limit: number): readonly A[] {
  return limit === 0 ? [] : items.slice(-limit)
}

function noLines(request: string): string {
  return `no log line has the request id ${request}; svc requests --request ${request} shows the request itself`
}

function plain({ fields, ...entry }: LogEntry) {
  return { ...entry, fields: { ...fields } }
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`
}
