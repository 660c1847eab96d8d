import type { AccessRecord } from '@svc/contracts'
import type { DeltaInput } from '@svc/plugin-sdk'
import { observabilityErrors } from './errors.ts'
import { type RequestFilter, requestFilter } from './filters.ts'
import { renderDetails } from './log-entry.ts'
import { type LogSource, linesOf, newest, storedLines, textOfRequest } from './log-handlers.ts'
import { mergeRecords, readRequests, recordOf } from './request-file.ts'
import { RingFeed } from './ring-feed.ts'
import { senderOf } from './sender.ts'
import type { SlotRing } from './slot-ring.ts'
import { type StoredRequest, type StoredSpan, toRecord } from './span-record.ts'
import { stepsOf } from './trace.ts'

export interface RequestSource extends LogSource {
  /** Null in the process of a single command. */
  readonly records: SlotRing<StoredRequest> | null
  /** Folder of the files. */
  readonly folder: string
  readonly requestPath: string
}

export interface RequestsInput extends RequestFilter {
  readonly limit: number
}

/** Maximum log lines of one request. */
const MAX_LINES = 500

/** Returns the handler of `observability.requests`. */
export function requestsHandler(source: RequestSource) {
  return async ({ limit, ...filter }: RequestsInput) => {
    const { records, isLive } = await recordsOf(source, filter)
    const note = isLive ? '' : storedNote(source.folder)
    return { requests: newest(records, limit).map(shownRequest), note }
  }
}

/** Returns the handler of `observability.requests.feed`. */
export function requestsFeedHandler(records: SlotRing<StoredRequest>) {
  const feed = new RingFeed(records, stored => {
    const result = resultOf(stored)
    const record = toRecord(stored)
    return { ...shownRequest(record), result, sender: senderOf(record.plugin, result === 'ok') }
  })
  return (input: DeltaInput) => feed.read(input)
}

/** Returns the handler of `observability.request`. Throws `OBS_REQUEST_UNKNOWN`. */
export function requestHandler(source: RequestSource, spans: SlotRing<StoredSpan>) {
  return async ({ id }: { readonly id: string }) => {
    const { records, isLive } = await recordsOf(source, { request: id })
    const record = records.at(-1)
    if (record === undefined)
      throw observabilityErrors.create('OBS_REQUEST_UNKNOWN', `no recorded request has the id ${id}`, {
        hint: 'svc requests lists the requests; http.access_log selects those that are kept longer'
      })
    const lines = newest(await linesOf(source, id, ({ fields }) => fields.request_id === id), MAX_LINES)
    const { steps, omitted } = stepsOf(spans, record.trace_id ?? id) ?? { steps: [], omitted: 0 }
    const statements = steps.flatMap(({ statement, ms, attributes, error, span_id }) => {
      const { 'db.response.returned_rows': rows } = attributes
      return statement === null
        ? []
        : [{ key: span_id, statement, ms, rows: typeof rows === 'number' ? rows : null, error }]
    })
    return {
      request: shownRequest(record),
      lines: lines.map(entry => ({ ...entry, fields: { ...entry.fields }, details: renderDetails(entry) })),
      steps,
      statements,
      note: noteOf(isLive, steps.length, statements.length, omitted)
    }
  }
}

async function recordsOf(
  source: RequestSource,
  filter: RequestFilter
): Promise<{ readonly records: AccessRecord[]; readonly isLive: boolean }> {
  const wanted = requestFilter(filter)
  const { request } = filter
  const live = source.records?.items().map(toRecord).filter(wanted) ?? []
  if (source.records !== null && (request === undefined || live.length > 0)) return { records: live, isLive: true }
  const logged = (await storedLines(source.path, request)).flatMap(recordOf)
  const stored = mergeRecords(logged, await readRequests(source.requestPath, textOfRequest(request))).filter(wanted)
  return { records: stored, isLive: source.records !== null && stored.length === 0 }
}

function noteOf(isLive: boolean, steps: number, statements: number, omitted: number): string {
  if (steps === 0 && !isLive) return 'Read from the log files; spans are kept in memory until svc stops.'
  if (steps === 0) return 'Its spans are no longer in memory: newer ones took their place.'
  if (omitted > 0) return `${omitted} further spans are not shown.`
  if (statements > 0) return ''
  return (
    'No SQL was recorded. It is kept for failed and slow requests of programs, and for all requests while the Traces ' +
    'page is open, with plugins.observability.sample = 1, or with a sampled traceparent.'
  )
}

function shownRequest({ time, ms, ...record }: AccessRecord) {
  return { ...record, time: new Date(time).toISOString(), ms: Math.round(ms * 10) / 10 }
}

/** A stream that fails after its begin has a status below 400, and an error code. */
function resultOf({ status, error_code }: Pick<AccessRecord, 'status' | 'error_code'>): 'ok' | 'refused' | 'failed' {
  if (status < 400) return error_code === null ? 'ok' : 'failed'
  return status < 500 ? 'refused' : 'failed'
}

function storedNote(folder: string): string {
  return `from the files in ${folder}: the access log of every server, and all requests of svc run and svc dev`
}
