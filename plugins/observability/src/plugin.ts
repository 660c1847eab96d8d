import { join } from 'node:path'
import {
  type AccessRecord,
  kernelAdmin,
  kernelPort,
  logLines,
  observabilitySink,
  observabilitySpans,
  operationEnded,
  type SpanRecord
} from '@svc/contracts'
import { definePlugin, errorMessage, type Infer, t, waitForAbort } from '@svc/plugin-sdk'
import { observabilityErrors } from './errors.ts'
import { FileTail } from './file-tail.ts'
import { logFilter, requestFilter } from './filters.ts'
import { type LogEntry, parseLogEntry, renderLogEntry } from './log-entry.ts'
import { LogFile, readLogLines } from './log-file.ts'
import { logs, requests, trace } from './operations.ts'
import { mergeRecords, RequestFile, readRequests, recordOf } from './request-file.ts'
import { Ring } from './ring.ts'
import { spanOfOperation, spanOfRequest } from './span-record.ts'
import { RunningSpan } from './spans.ts'
import { renderTrace, traceOf } from './trace.ts'

const settings = t.object({
  log_lines: t.integer({
    default: 5_000,
    minimum: 1,
    maximum: 100_000,
    description: 'Number of log lines kept in memory'
  }),
  requests: t.integer({
    default: 4_096,
    minimum: 1,
    maximum: 100_000,
    description: 'Number of requests kept in memory'
  }),
  spans: t.integer({
    default: 20_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Number of spans kept in memory'
  }),
  file: t.boolean({
    default: true,
    description: 'Whether the log is also written to logs/svc.jsonl of the state folder'
  }),
  file_max_bytes: t.integer({
    default: 10_485_760,
    minimum: 4_096,
    description: 'File size at which the log is rotated'
  }),
  files: t.integer({
    default: 5,
    minimum: 1,
    maximum: 100,
    description: 'Number of log files, including the current one'
  }),
  request_file: t.boolean({
    default: false,
    description: 'Whether every request is also written to logs/requests.jsonl; svc run and svc dev set it'
  })
})

/** Maximum memory of all log lines. */
const MAX_LOG_BYTES = 4_194_304

export default definePlugin({
  name: 'observability',
  summary: 'Log lines, access records and traces: svc logs, svc requests, svc trace, and a log file',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, lines: logLines },
  provides: [observabilitySink, observabilitySpans],
  operations: [logs, requests, trace],
  async activate(ctx, { kernel, admin, lines }) {
    const config = ctx.config as Infer<typeof settings>
    const folder = join(kernel.stateRoot, 'logs')
    const path = join(folder, 'svc.jsonl')
    const requestPath = join(folder, 'requests.jsonl')
    const kept = await ctx.keep(
      `log lines ${config.log_lines}`,
      () => newKeptLog(config.log_lines),
      () => undefined
    )
    const entries = kept.lines
    const records = await ctx.keep(
      `requests ${config.requests}`,
      () => new Ring<AccessRecord>({ maxItems: config.requests }),
      () => undefined
    )
    const followers = new Set<(line: string) => void>()
    const spans = await ctx.keep(
      `spans ${config.spans}`,
      () => new Ring<SpanRecord>({ maxItems: config.spans }),
      () => undefined
    )
    const subscribers = new Set<(span: SpanRecord) => void>()
    const add = (span: SpanRecord): void => {
      spans.push(span)
      for (const subscriber of subscribers) subscriber(span)
    }
    // A single command has no server log in memory: it reads the log files of the project.
    const serves = lines !== undefined && admin?.serves !== false
    const limits = { maxBytes: config.file_max_bytes, maxFiles: config.files }
    const requestFile =
      serves && config.request_file ? new RequestFile({ path: requestPath, ...limits }, ctx.log) : null
    ctx.effect('request file', () => requestFile?.close())
    ctx.provide(observabilitySink, {
      request: sent => {
        const record = { ...sent, path: kernel.mask(sent.path) }
        records.push(record)
        requestFile?.add(record)
        const span = spanOfRequest(record)
        if (span !== null) add(span)
      }
    })
    ctx.provide(observabilitySpans, {
      start: (name, parent, attributes) => new RunningSpan(add, name, parent, attributes),
      subscribe(listener) {
        subscribers.add(listener)
        return () => void subscribers.delete(listener)
      }
    })
    ctx.on(operationEnded, end => add(spanOfOperation(end)))

    if (serves) {
      const file = config.file ? new LogFile({ path, ...limits }) : null
      let writes = file !== null
      const self = {}
      kept.writer ??= self
      ctx.onServe('log lines', () => {
        kept.writer = self
      })
      const end = lines.subscribe(line => {
        if (kept.writer !== self) return
        entries.push(line)
        for (const follow of followers) follow(line)
        if (!writes) return
        try {
          file?.append(line)
        } catch (error) {
          writes = false
          ctx.log.error(`cannot write ${path}; the log is only kept in memory`, { reason: errorMessage(error) })
        }
      })
      ctx.effect('log lines', () => {
        end()
        file?.close()
      })
    }

    const storedLines = async (request: string | undefined): Promise<LogEntry[]> =>
      parsed(await readLogLines(path, textOf(request)))
    const storedRequests = async (request: string | undefined): Promise<AccessRecord[]> => {
      const logged = (await storedLines(request)).flatMap(recordOf)
      return mergeRecords(logged, await readRequests(requestPath, textOf(request)))
    }
    ctx.implement(logs, async ({ follow, limit, ...filter }, call) => {
      const wanted = logFilter(filter)
      const { request } = filter
      // Created before the file is read, so that no line between the two is lost.
      const tail = serves || !follow ? null : new FileTail(path)
      let found = serves ? parsed(entries.items()).filter(wanted) : []
      // Other processes of the project, such as `svc run`, append to the same file.
      if (!serves || (request !== undefined && found.length === 0)) found = (await storedLines(request)).filter(wanted)
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
      if (tail === null) {
        followers.add(news)
        await waitForAbort(call.signal)
        followers.delete(news)
      } else await tail.follow(news, call.signal)
      return { lines: [], text: '' }
    })
    ctx.implement(trace, ({ id }) => {
      const traceSpans = traceOf(spans.items(), id)
      if (traceSpans === undefined)
        throw observabilityErrors.create('OBS_TRACE_UNKNOWN', `no recorded span belongs to ${id}`, {
          hint: serves
            ? `svc requests lists the requests; the newest ${config.spans} spans are kept`
            : 'start svc serve: only a running server records spans'
        })
      const steps = traceSpans.map(({ trace_id: _trace, start, offset, ms, attributes, ...span }) => ({
        ...span,
        start: new Date(start).toISOString(),
        offset: rounded(offset),
        ms: rounded(ms),
        attributes: { ...attributes }
      }))
      return { trace_id: (traceSpans[0] as SpanRecord).trace_id, steps, text: renderTrace(traceSpans) }
    })
    ctx.implement(requests, async ({ limit, ...filter }) => {
      const wanted = requestFilter(filter)
      const { request } = filter
      const live = serves ? records.items().filter(wanted) : []
      const isLive = serves && (request === undefined || live.length > 0)
      const found = isLive ? live : (await storedRequests(request)).filter(wanted)
      const note = isLive || (serves && found.length === 0) ? '' : storedNote(folder)
      return { requests: newest(found, limit).map(shown), note }
    })
  }
})

/** Text that every stored line of the request contains. */
function textOf(request: string | undefined): string | undefined {
  return request === undefined ? undefined : JSON.stringify(request)
}

function noLines(request: string): string {
  return `no log line has the request id ${request}; svc requests --request ${request} shows the request itself`
}

function storedNote(folder: string): string {
  return `from the files in ${folder}: the access log of every server, and all requests of svc run and svc dev`
}

/** Log state that outlives a reload. */
interface KeptLog {
  readonly lines: Ring<string>
  /** The plugin instance that writes the file: during a reload there are two. */
  writer: object | null
}

function newKeptLog(maxItems: number): KeptLog {
  const bytesOf = (line: string): number => line.length
  return { lines: new Ring<string>({ maxItems, maxBytes: MAX_LOG_BYTES, bytesOf }), writer: null }
}

function parsed(lines: readonly string[]): LogEntry[] {
  return lines.map(parseLogEntry).filter(entry => entry !== null)
}

function newest<A>(items: readonly A[], limit: number): readonly A[] {
  return limit === 0 ? [] : items.slice(-limit)
}

function plain({ fields, ...entry }: LogEntry) {
  return { ...entry, fields: { ...fields } }
}

function shown({ time, ms, ...record }: AccessRecord) {
  return { ...record, time: new Date(time).toISOString(), ms: Math.round(ms * 10) / 10 }
}

/** Rounds milliseconds to microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
