import { join } from 'node:path'
import {
  kernelAdmin,
  kernelPort,
  logLines,
  metricsText,
  observabilitySink,
  observabilitySpans,
  type SpanRecord
} from '@svc/contracts'
import { definePlugin, requestIdOf, traceContextOf } from '@svc/plugin-sdk'
import { Announcer } from './announcer.ts'
import { logsFeedHandler, logsHandler } from './log-handlers.ts'
import { LogStore, newKeptLog } from './log-store.ts'
import { metricsHandler } from './metric-handlers.ts'
import { MetricHistory, newHistoryState } from './metric-history.ts'
import { MetricSampler, type MetricSource } from './metric-sampler.ts'
import { logs, logsFeed, metrics, requestDetails, requests, requestsFeed, trace, traces } from './operations.ts'
import { contributePages } from './pages.ts'
import { Recording } from './recording.ts'
import { RequestCounter } from './request-counter.ts'
import { RequestFile } from './request-file.ts'
import { requestHandler, requestsFeedHandler, requestsHandler } from './request-handlers.ts'
import { type Settings, settings } from './settings.ts'
import { newSlotState, SlotRing } from './slot-ring.ts'
import {
  emptyRequest,
  emptySpan,
  fillFromCall,
  fillFromRequest,
  fillFromStep,
  fillRequest,
  type StoredRequest,
  type StoredSpan,
  shownStep,
  toRecord,
  toSpan
} from './span-record.ts'
import { RunningSpan, recordOfStep } from './spans.ts'
import { TOPICS } from './topics.ts'
import { traceHandler, tracesHandler } from './trace-handlers.ts'

/** Surface of calls that the console makes. */
const CONSOLE = 'console'

export default definePlugin({
  name: 'observability',
  summary: 'Log lines, access records, traces and metrics: svc logs, svc requests, svc trace, svc metrics',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, lines: logLines },
  provides: [observabilitySink, observabilitySpans],
  operations: [logs, logsFeed, requests, requestsFeed, requestDetails, trace, traces, metrics],
  async activate(ctx, { kernel, admin, lines }) {
    const config = ctx.config as Settings
    const folder = join(kernel.stateRoot, 'logs')
    const path = join(folder, 'svc.jsonl')
    const requestPath = join(folder, 'requests.jsonl')
    const limits = { maxBytes: config.file_max_bytes, maxFiles: config.files }
    // A single command has no server log in memory: it reads the log files of the project.
    const serves = lines !== undefined && admin?.serves !== false
    const kept = <A>(key: string, open: () => A): Promise<A> => ctx.keep(key, open, () => undefined)
    const announcer = (topic: string): Announcer => {
      const announcer = new Announcer(() => ctx.changed(topic))
      ctx.effect(`announcements of ${topic}`, () => announcer.close())
      return announcer
    }

    const requestState = await kept(`request slots 1 ${config.requests}`, newSlotState<StoredRequest>)
    const records = new SlotRing(config.requests, emptyRequest, requestState)
    const spanState = await kept(`span slots 1 ${config.spans}`, newSlotState<StoredSpan>)
    const spans = new SlotRing(config.spans, emptySpan, spanState)
    const subscribers = new Set<(span: SpanRecord) => void>()
    const [newRequests, newSpans] = [announcer(TOPICS.requests), announcer(TOPICS.spans)]
    const added = (stored: StoredSpan): void => {
      newSpans.note()
      if (subscribers.size === 0) return
      const span = toSpan(stored)
      for (const subscriber of subscribers) subscriber(span)
    }
    const add = (span: SpanRecord): void => {
      const slot = spans.next()
      fillFromStep(
        slot,
        shownStep(span, text => kernel.mask(text))
      )
      added(slot)
    }

    const recording = new Recording({
      sample: config.sample,
      isWatched: () => kernel.topics.watched(TOPICS.spans)
    })
    ctx.effect('recording of calls', () => recording.close())
    const counter = new RequestCounter()
    const requestFile =
      serves && config.request_file ? new RequestFile({ path: requestPath, ...limits }, ctx.log) : null
    ctx.effect('request file', () => requestFile?.close())
    ctx.provide(observabilitySink, {
      request: sent => {
        const request = records.next()
        fillRequest(request, sent, kernel.mask(sent.path))
        newRequests.note()
        counter.add(sent.ms, sent.status >= 500)
        requestFile?.add(toRecord(request))
        const slot = spans.next()
        fillFromRequest(slot, request)
        added(slot)
        recording.ended(sent.span)
      }
    })
    ctx.provide(observabilitySpans, {
      start: (name, parent, attributes) => new RunningSpan(add, { name, parent, attributes }),
      step: (plugin, name, attributes, parent = recording.current()) => {
        return parent === undefined ? null : new RunningSpan(add, { name, plugin, parent, attributes })
      },
      current: () => recording.current(),
      add: span => {
        const { parent } = span
        const record = recordOfStep(span)
        add(record)
        return { ...parent, spanId: record.span_id }
      },
      sample: () => recording.sample(),
      within: (parent, run) => recording.within(parent, run),
      subscribe(listener) {
        subscribers.add(listener)
        return () => void subscribers.delete(listener)
      }
    })
    const endObserving = kernel.observe({
      ended: (call, operation, plugin, ms, error) => {
        // An open page of the console reads all the time; its reads are no work of the system.
        if (call.surface !== CONSOLE || error !== undefined || operation.effect !== 'read') {
          const slot = spans.next()
          fillFromCall(slot, call, operation, plugin, ms, error)
          added(slot)
        }
        recording.ended(call)
      },
      sample: () => recording.sample(),
      within: (call, run) =>
        recording.within({ ...traceContextOf(call), requestId: requestIdOf(call.requestName) }, run)
    })
    ctx.effect('records of calls', endObserving)

    const keptLog = await kept(`log lines ${config.log_lines}`, newKeptLog)
    const newLines = announcer(TOPICS.logs)
    const log = new LogStore({
      kept: keptLog,
      maxLines: config.log_lines,
      file: serves && config.file ? { path, ...limits } : null,
      log: ctx.log,
      onLine: () => newLines.note()
    })
    ctx.effect('log file', () => log.close())
    if (serves) {
      ctx.onServe('log lines', () => log.takeOver())
      ctx.effect(
        'log lines',
        lines.subscribe(line => log.add(line))
      )
      const flush = (): void => log.close()
      process.on('exit', flush)
      ctx.effect('end of the process', () => void process.off('exit', flush))
      const reopen = (): void => {
        log.reopen()
        requestFile?.reopen()
      }
      // Of a command, SIGHUP means that the terminal is gone.
      if (admin?.isServer === true) process.on('SIGHUP', reopen)
      ctx.effect('reopening of log files', () => void process.off('SIGHUP', reopen))
    }

    const history = new MetricHistory(await kept('metric history', newHistoryState))
    let sources: readonly MetricSource[] = []
    ctx.follow(metricsText, items => {
      sources = items
    })
    if (serves) {
      const sampler = new MetricSampler({
        kernel,
        history,
        requests: counter,
        sources: () => sources,
        onSample: () => ctx.changed(TOPICS.metrics)
      })
      ctx.effect('metric samples', () => sampler.close())
    }

    const source = { store: serves ? log : null, path, records: serves ? records : null, folder, requestPath }
    const traceSource = { spans, serves, maxSpans: config.spans }
    ctx.implement(logs, logsHandler(source))
    ctx.implement(logsFeed, logsFeedHandler(log))
    ctx.implement(requests, requestsHandler(source))
    ctx.implement(requestsFeed, requestsFeedHandler(records))
    ctx.implement(requestDetails, requestHandler(source, spans))
    ctx.implement(trace, traceHandler(traceSource))
    ctx.implement(traces, tracesHandler(traceSource))
    ctx.implement(metrics, metricsHandler(history))
    contributePages(ctx)
  }
})
