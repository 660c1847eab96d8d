import { defineOperation, deltaOperation, t } from '@svc/plugin-sdk'
import { observabilityErrors } from './errors.ts'
import { LOG_LEVELS } from './log-entry.ts'
import { TOPICS } from './topics.ts'

const request = t.optional(
  t.string({ minLength: 1, maxLength: 128, description: 'Request id, from the x-request-id header' })
)
const since = t.optional(t.string({ maxLength: 64, description: 'A duration such as 10m, or a time' }))
const limit = t.integer({
  default: 200,
  minimum: 0,
  maximum: 5_000,
  description: 'Maximum number of entries: the newest, shown oldest first'
})
const nullable = t.nullable(t.string())
const scopes = ['kernel.admin']

const logLine = {
  time: t.string(),
  level: t.string(),
  plugin: nullable,
  message: t.string(),
  fields: t.record(t.unknown())
}

export const logs = defineOperation({
  id: 'observability.logs',
  summary: 'Show log lines of this project',
  description:
    'Shows the log of the running server, or the log file if no server runs. --request also searches the log file, to which svc run and svc dev write.',
  input: t.object({
    follow: t.boolean({ default: false, description: 'Continue with new lines until interrupted' }),
    plugin: t.optional(t.string({ minLength: 1, description: 'Only lines of this plugin', 'x-complete': 'plugins' })),
    level: t.optional(t.enum(LOG_LEVELS, { description: 'Only lines of this level and above' })),
    request,
    since,
    limit
  }),
  output: t.object({ lines: t.array(t.object(logLine)), text: t.string() }),
  events: t.string(),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes,
  timeoutMs: 0,
  expose: {
    rpc: true,
    cli: { command: 'logs', aliases: { follow: 'f', limit: 'n' }, view: { text: 'text' } }
  }
})

export const logsFeed = deltaOperation({
  id: 'observability.logs.feed',
  summary: 'Read log lines of the running server as they are written',
  row: t.object({
    key: t.string(),
    time: t.string(),
    level: t.enum(LOG_LEVELS),
    plugin: nullable,
    message: t.string(),
    request_id: nullable,
    details: t.string({ description: 'All other fields, as text' })
  }),
  watch: { on: [TOPICS.logs] },
  scopes,
  expose: { rpc: true }
})

const requestRow = {
  time: t.string({ format: 'date-time' }),
  request_id: t.string(),
  trace_id: nullable,
  span_id: nullable,
  parent_span_id: nullable,
  listener: t.string(),
  method: t.string(),
  route: nullable,
  path: t.string(),
  status: t.integer(),
  ms: t.number(),
  bytes: t.integer(),
  plugin: nullable,
  operation: nullable,
  principal: t.string(),
  error_code: nullable
}

export const requests = defineOperation({
  id: 'observability.requests',
  summary: 'Show answered HTTP requests',
  description:
    'Shows the requests of the running server. If no server runs, and for a --request that it does not know, reads the access log (see the setting http.access_log) and the requests of svc run and svc dev.',
  input: t.object({
    request,
    plugin: t.optional(
      t.string({ minLength: 1, description: 'Only requests to this plugin', 'x-complete': 'plugins' })
    ),
    failed: t.boolean({ default: false, description: 'Only requests with an error code or a status of 400 or above' }),
    since,
    limit
  }),
  output: t.object({ requests: t.array(t.object(requestRow)), note: t.string() }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes,
  expose: {
    rpc: true,
    cli: {
      command: 'requests',
      aliases: { limit: 'n' },
      view: {
        rows: 'requests',
        columns: ['time', 'request_id', 'method', 'path', 'status', 'ms', 'plugin', 'error_code'],
        note: 'note'
      }
    }
  }
})

const sender = t.enum(['client', 'console'], {
  description: "console: a request of the console's own page that did not fail; client: every other"
})

export const requestsFeed = deltaOperation({
  id: 'observability.requests.feed',
  summary: 'Read requests of the running server as they are answered',
  row: t.object({
    ...requestRow,
    key: t.string(),
    result: t.enum(['ok', 'refused', 'failed'], {
      description: 'ok: status below 400; refused: below 500; failed: from 500, or below 400 with an error code'
    }),
    sender
  }),
  watch: { on: [TOPICS.requests] },
  scopes,
  expose: { rpc: true }
})

const step = {
  span_id: t.string(),
  parent_id: nullable,
  request_id: nullable,
  name: t.string(),
  kind: t.enum(['request', 'operation', 'step']),
  plugin: nullable,
  start: t.string({ format: 'date-time' }),
  lane: t.string({ description: 'The name, with a number if several spans of the trace have it' }),
  from: t.number({ description: 'Start in Unix milliseconds, with fractions' }),
  until: t.number({ description: 'End in Unix milliseconds, with fractions' }),
  offset: t.number({ description: 'Milliseconds after the first span' }),
  ms: t.number(),
  depth: t.integer({ description: 'Depth in the tree: 0 for the first span' }),
  state: t.enum(['ok', 'failed']),
  error: nullable,
  statement: t.nullable(t.string({ description: 'SQL of a database statement, without its values' })),
  attributes: t.record(t.unknown()),
  details: t.string({ description: 'Attributes without the SQL, as one text' })
}

export const trace = defineOperation({
  id: 'observability.trace',
  summary: 'Show the spans of one request or trace',
  description: 'Needs a running server. Each span has its duration and its depth in the trace.',
  input: t.object({
    id: t.string({
      minLength: 1,
      maxLength: 128,
      description: 'A trace id, a span id, or a request id from the response header x-request-id'
    })
  }),
  output: t.object({
    trace_id: t.string(),
    steps: t.array(t.object(step)),
    omitted: t.integer({ description: 'Number of spans that are not returned, because there are too many' }),
    text: t.string()
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes,
  expose: { rpc: true, cli: { command: 'trace', args: ['id'], view: { text: 'text' } } }
})

export const traces = defineOperation({
  id: 'observability.traces',
  summary: 'Show the newest traces',
  description: 'Needs a running server. While this operation is watched, new traces are recorded with all details.',
  input: t.object({
    failed: t.boolean({ default: false, description: 'Only traces with a failed span' }),
    plugin: t.optional(
      t.string({ minLength: 1, description: 'Only traces with a span of this plugin', 'x-complete': 'plugins' })
    ),
    sender: t.optional(sender),
    since,
    limit: t.integer({
      default: 50,
      minimum: 1,
      maximum: 500,
      description: 'Maximum number of traces: the newest, shown newest first'
    })
  }),
  output: t.object({
    traces: t.array(
      t.object({
        trace_id: t.string(),
        request_id: nullable,
        name: t.string({ description: 'Name of the first span' }),
        plugin: nullable,
        start: t.string({ format: 'date-time' }),
        ms: t.number(),
        spans: t.integer(),
        state: t.enum(['ok', 'failed']),
        error: t.nullable(t.string({ description: 'Error of the first span, else of the deepest failed one' }))
      })
    )
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes,
  watch: { on: [TOPICS.spans], minMs: 1_000 },
  expose: {
    rpc: true,
    cli: {
      command: 'traces',
      aliases: { limit: 'n' },
      view: { rows: 'traces', columns: ['start', 'trace_id', 'request_id', 'name', 'ms', 'spans', 'error'] }
    }
  }
})

export const requestDetails = defineOperation({
  id: 'observability.request',
  summary: 'Show one request with its log lines, its spans and its SQL',
  input: t.object({
    id: t.string({ minLength: 1, maxLength: 128, description: 'Request id, from the x-request-id header' })
  }),
  output: t.object({
    request: t.object(requestRow),
    lines: t.array(t.object({ ...logLine, details: t.string() })),
    steps: t.array(t.object(step)),
    statements: t.array(
      t.object({
        key: t.string(),
        statement: t.string(),
        ms: t.number(),
        rows: t.nullable(t.integer()),
        error: nullable
      })
    ),
    note: t.string({ description: 'What is missing, and why' })
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes,
  expose: { rpc: true }
})

export const metrics = defineOperation({
  id: 'observability.metrics',
  summary: 'Show metrics of the running server, now and over time',
  description: 'The server keeps a value every 10 seconds for two hours. Needs a running server.',
  input: t.object({
    series: t.optional(
      t.array(t.string({ minLength: 1, maxLength: 200 }), {
        maxItems: 50,
        description: 'Names of series, or beginnings of names that end with *. Default: the most important ones'
      })
    ),
    since,
    points: t.integer({
      default: 0,
      minimum: 0,
      maximum: 720,
      description: 'Maximum number of points, in equal distances; 0: all'
    })
  }),
  output: t.object({
    series: t.array(
      t.object({
        name: t.string(),
        now: t.nullable(t.number()),
        min: t.nullable(t.number()),
        max: t.nullable(t.number()),
        trend: t.string({ description: 'The values as a line of bars' })
      })
    ),
    points: t.array(
      t.record(t.nullable(t.number()), { description: 'Unix milliseconds as time, and a value per series' })
    ),
    available: t.array(t.string(), { description: 'Names of all series' }),
    note: t.string()
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  watch: { on: [TOPICS.metrics], minMs: 1_000 },
  expose: {
    rpc: true,
    cli: {
      command: 'metrics',
      args: ['series'],
      view: { rows: 'series', columns: ['name', 'now', 'min', 'max', 'trend'], note: 'note' }
    }
  }
})
