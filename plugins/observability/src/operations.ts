import { defineOperation, t } from '@svc/plugin-sdk'
import { observabilityErrors } from './errors.ts'
import { LOG_LEVELS } from './log-entry.ts'

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
  output: t.object({
    lines: t.array(
      t.object({
        time: t.string(),
        level: t.string(),
        plugin: nullable,
        message: t.string(),
        fields: t.record(t.unknown())
      })
    ),
    text: t.string()
  }),
  events: t.string(),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes: ['kernel.admin'],
  timeoutMs: 0,
  expose: {
    rpc: true,
    cli: { command: 'logs', aliases: { follow: 'f', limit: 'n' }, view: { text: 'text' } }
  }
})

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
    failed: t.boolean({ default: false, description: 'Only requests with a status of 400 or above' }),
    since,
    limit
  }),
  output: t.object({
    requests: t.array(
      t.object({
        time: t.string(),
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
      })
    ),
    note: t.string()
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes: ['kernel.admin'],
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
    steps: t.array(
      t.object({
        span_id: t.string(),
        parent_id: nullable,
        request_id: nullable,
        name: t.string(),
        kind: t.enum(['request', 'operation', 'step']),
        plugin: nullable,
        start: t.string(),
        offset: t.number({ description: 'Milliseconds after the first span' }),
        ms: t.number(),
        depth: t.integer({ description: 'Depth in the tree: 0 for the first span' }),
        error: nullable,
        attributes: t.record(t.unknown())
      })
    ),
    text: t.string()
  }),
  errors: observabilityErrors.specs,
  effect: 'read',
  scopes: ['kernel.admin'],
  expose: { rpc: true, cli: { command: 'trace', args: ['id'], view: { text: 'text' } } }
})
