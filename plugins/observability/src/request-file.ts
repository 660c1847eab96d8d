import type { AccessRecord } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { LogEntry } from './log-entry.ts'
import { type LogFileOptions, readLogLines } from './log-file.ts'
import { RetryingFile } from './retrying-file.ts'

/** Appends access records to a file, one JSON line each. The records of one turn of the event loop are one write. */
export class RequestFile {
  #file: RetryingFile | null
  #pending: string[] = []

  constructor(options: LogFileOptions, log: Logger) {
    this.#file = new RetryingFile({ ...options, log, what: 'requests are' })
  }

  add(record: AccessRecord): void {
    if (this.#file === null) return
    if (this.#pending.push(JSON.stringify(record)) === 1) setImmediate(() => this.#write())
  }

  /** Opens the file again, after another program moved it. */
  reopen(): void {
    this.#write()
    this.#file?.reopen()
  }

  close(): void {
    this.#write()
    this.#file?.close()
    this.#file = null
  }

  #write(): void {
    const lines = this.#pending
    this.#pending = []
    if (lines.length === 0) return
    this.#file?.append(lines)
  }
}

/** Reads the records of a file and its rotated files, oldest first. With `text`, only from lines that contain it. */
export async function readRequests(path: string, text?: string): Promise<AccessRecord[]> {
  return (await readLogLines(path, text)).flatMap(line => {
    try {
      return [JSON.parse(line) as AccessRecord]
    } catch {
      // The process ended while it wrote the line.
      return []
    }
  })
}

/** Merges two lists by time. A request in both is returned once. */
export function mergeRecords(first: readonly AccessRecord[], second: readonly AccessRecord[]): AccessRecord[] {
  const byKey = new Map<string, AccessRecord>()
  for (const record of [...first, ...second]) {
    byKey.set(`${record.request_id} ${record.span_id ?? record.time}`, record)
  }
  return [...byKey.values()].sort((a, b) => a.time - b.time)
}

const NOTHING = { trace_id: null, span_id: null, parent_span_id: null, route: null, operation: null, error_code: null }

/** Returns the access record of an access log line; none for any other line. */
export function recordOf({ time, plugin, message, fields }: LogEntry): AccessRecord[] {
  if (plugin !== 'http' || message !== 'request' || typeof fields.status !== 'number') return []
  const { served_by = null, ...known } = fields as unknown as AccessRecord & { readonly served_by?: string }
  return [{ ...NOTHING, ...known, plugin: served_by, time: Date.parse(time) }]
}
