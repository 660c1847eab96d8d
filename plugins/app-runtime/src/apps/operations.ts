import { dashboardSearchOutput } from '@svc/contracts'
import { defineOperation, deltaOperation, t } from '@svc/plugin-sdk'
import { appErrors, runErrors } from '../errors.ts'
import { ACTIVITY_TOPIC } from './activity.ts'
import { CALLS_TOPIC } from './call-log.ts'
import { APPS_TOPIC } from './served-apps.ts'

const { APP_NO_SERVER, APP_UNKNOWN, APP_NOT_SERVED, APP_REQUEST_FAILED, APP_REQUEST_INVALID } = appErrors.specs
const { APP_COLUMN_UNKNOWN, APP_CURSOR_INVALID, APP_NO_DATABASE, APP_ROW_CHANGED } = appErrors.specs
const { APP_ROW_UNKNOWN, APP_TABLE_UNKNOWN, APP_VALUE_INVALID } = appErrors.specs
const { RUN_CONSTRAINT, RUN_DATABASE, RUN_DATABASE_BUSY, RUN_DATABASE_FULL } = runErrors.specs

const app = t.string({ minLength: 1, maxLength: 255, description: 'Name of the program, as in app list.' })
const state = t.enum(['serving', 'stale', 'failed'], {
  description:
    'stale: the newest source has errors, and an older version is served. failed: it has errors, or no thread could be started.'
})

export const appList = defineOperation({
  id: 'app.list',
  summary: 'List the served programs',
  input: t.object({}),
  output: t.object({
    apps: t.array(
      t.object({
        name: t.string(),
        file: t.string({ description: 'Source, relative to the project.' }),
        state,
        url: t.nullable(t.string({ description: 'Address of its listener; null until it listens.' })),
        routes: t.integer({ description: 'HTTP routes, functions included.' }),
        tables: t.integer(),
        workflows: t.integer(),
        threads: t.integer(),
        loaded_at: t.nullable(t.string({ format: 'date-time', description: 'When this version was loaded.' }))
      })
    ),
    note: t.string()
  }),
  effect: 'read',
  watch: { on: [APPS_TOPIC] },
  expose: {
    rpc: true,
    mcp: {
      name: 'svc_app_list',
      toolsets: ['apps'],
      use: 'Which programs run here, and where. Details of one: svc_app_describe.'
    },
    cli: {
      command: 'app list',
      view: { rows: 'apps', columns: ['name', 'file', 'state', 'url', 'routes', 'tables', 'workflows'], note: 'note' }
    }
  }
})

const param = t.object({
  name: t.string(),
  in: t.enum(['path', 'query', 'body']),
  type: t.string({ description: 'Declared type.' }),
  required: t.boolean()
})

const named = t.array(t.object({ name: t.string(), kind: t.string(), params: t.string(), returns: t.string() }))

export const appDescribe = defineOperation({
  id: 'app.describe',
  summary: 'Describe the routes, tables, functions and workflows of a served program',
  input: t.object({
    app,
    schemas: t.boolean({ default: false, description: 'Adds the JSON Schema of the input of each route.' })
  }),
  output: t.object({
    app: t.object({
      name: t.string(),
      file: t.string(),
      state,
      url: t.nullable(t.string()),
      database: t.nullable(t.string({ description: 'File or URL; null without a database.' })),
      auth: t.enum(['none', 'bearer'], { description: 'bearer: requests need the token of plugins.http.' })
    }),
    routes: t.array(
      t.object({
        route: t.string({ description: 'Method and path.' }),
        method: t.string(),
        path: t.string({ description: 'Pattern: a segment :name is a parameter.' }),
        kind: t.enum(['query', 'mutation', 'server', 'route']),
        name: t.string(),
        params: t.array(param),
        inputs: t.string({ description: 'The parameters in one line.' }),
        body: t.enum(['none', 'any', 'fields', 'whole'], {
          description:
            'fields: an object of the parameters in the body. whole: the value of the only one. any: the program parses the body.'
        }),
        returns: t.string(),
        auth: t.enum(['none', 'bearer']),
        schema: t.optional(t.record(t.unknown()))
      })
    ),
    tables: t.array(
      t.object({
        name: t.string(),
        stored_as: t.string({ description: 'Name in the database.' }),
        columns: t.array(
          t.object({
            name: t.string(),
            type: t.string({ description: 'Declared type.' }),
            kind: t.enum(['int', 'bool', 'id', 'float', 'str', 'char', 'dec', 'json', 'file', 'vector']),
            optional: t.boolean(),
            has_default: t.boolean()
          })
        ),
        summary: t.string({ description: 'The columns in one line.' })
      })
    ),
    functions: named,
    workflows: named
  }),
  errors: { APP_UNKNOWN, APP_NOT_SERVED },
  effect: 'read',
  watch: { on: [APPS_TOPIC] },
  expose: {
    rpc: true,
    mcp: {
      name: 'svc_app_describe',
      toolsets: ['apps'],
      use: 'Read it before svc_app_request: it has the routes, their parameters and the tables.'
    },
    cli: { command: 'app describe', args: ['app'] }
  }
})

export const appFeed = deltaOperation({
  id: 'app.feed',
  summary: 'Show the newest calls of served programs',
  row: t.object({
    id: t.string(),
    app: t.string(),
    time: t.integer({ description: 'Unix milliseconds.' }),
    method: t.string(),
    path: t.string({ description: 'Pattern of the route.' }),
    name: t.string(),
    status: t.integer(),
    ms: t.number({ description: 'Milliseconds until the response was sent.' }),
    sql: t.nullable(t.integer({ description: 'Number of SQL statements; null if unknown.' })),
    request_id: t.string()
  }),
  errors: { APP_NO_SERVER },
  watch: { on: [CALLS_TOPIC] },
  expose: {
    rpc: true,
    cli: { command: 'app feed', view: { rows: 'upsert', columns: ['request_id', 'name', 'status', 'ms', 'sql'] } }
  }
})

const count = (description: string) => t.nullable(t.integer({ description }))

export const appActivity = deltaOperation({
  id: 'app.activity',
  summary: 'Show what a program does while svc dev serves it',
  row: t.object({
    id: t.string(),
    seq: t.integer({ description: 'Position in the log.' }),
    app: t.string(),
    time: t.integer({ description: 'Unix milliseconds.' }),
    event: t.enum(['request', 'call', 'sql', 'live', 'debug', 'info', 'warn', 'error'], {
      description:
        'request: an HTTP request was answered. call: a schedule, a tool or a live query ran. sql: a statement ran. live: clients received an update. Others: a line of the program, by its level.'
    }),
    text: t.string({ description: 'Method and path, SQL without values and the code of its failure, or the line.' }),
    function: t.nullable(t.string()),
    status: count('HTTP status.'),
    ms: t.nullable(t.number({ description: 'Milliseconds.' })),
    values: count('Number of bound values.'),
    rows: count('Number of returned rows.'),
    changed: count('Number of changed rows.'),
    error: t.nullable(t.string({ description: 'Code of the failure of a statement.' })),
    clients: count('Number of clients that received an update.'),
    request_id: t.nullable(t.string())
  }),
  errors: { APP_NO_SERVER },
  watch: { on: [ACTIVITY_TOPIC] },
  scopes: ['app.activity'],
  expose: {
    rpc: true,
    cli: {
      command: 'app activity',
      view: { rows: 'upsert', columns: ['event', 'text', 'status', 'ms', 'rows', 'changed', 'request_id'] }
    }
  }
})

export const appRequest = defineOperation({
  id: 'app.request',
  summary: 'Send a request to a served program',
  description:
    'Sends the request to the listener of the program, so it is recorded like any other. A response that does not end within 10 seconds, such as a stream of changes, is cut.',
  input: t.object({
    app,
    method: t.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'], { default: 'GET', description: 'HTTP method.' }),
    path: t.string({
      minLength: 1,
      maxLength: 8_000,
      description: 'Path with its parameters filled in, such as /tasks/7.'
    }),
    query: t.optional(
      t.record(t.unknown(), { description: 'Query parameters. Texts are sent unchanged, other values as JSON.' })
    ),
    headers: t.optional(t.record(t.string(), { description: 'HTTP headers by name.' })),
    body: t.optional(t.unknown({ description: 'Sent as JSON. A text is sent unchanged.' }))
  }),
  output: t.object({
    status: t.integer(),
    headers: t.record(t.string()),
    body: t.string({ description: 'At most 262,144 bytes.' }),
    encoding: t.enum(['text', 'base64'], { description: 'base64: the body is not UTF-8 text.' }),
    cut: t.boolean({ description: 'True if the body is incomplete.' }),
    ms: t.number(),
    request_id: t.string({ description: 'Finds the request in svc requests and svc trace.' }),
    text: t.string()
  }),
  errors: { APP_UNKNOWN, APP_NOT_SERVED, APP_REQUEST_FAILED, APP_REQUEST_INVALID },
  effect: 'write',
  expose: {
    rpc: true,
    mcp: {
      name: 'svc_app_request',
      toolsets: ['apps'],
      use: 'Calls a route as a client would, and may change data. Find the route with svc_app_describe.'
    },
    cli: { command: 'app request', args: ['app', 'path'], aliases: { method: 'X', body: 'd' }, view: { text: 'text' } }
  }
})

const SCOPES = ['app.tables']
const table = t.string({ minLength: 1, maxLength: 255, description: 'Declared name of the table.' })
const key = t.union([t.integer(), t.string({ pattern: '^-?\\d{1,19}$' })], { description: 'The _id of the row.' })
const values = (description: string) => t.record(t.unknown(), { description })
const row = t.record(t.unknown(), { description: 'Values by column, with _id.' })

const tableErrors = {
  APP_UNKNOWN,
  APP_NOT_SERVED,
  APP_NO_DATABASE,
  APP_TABLE_UNKNOWN,
  APP_COLUMN_UNKNOWN,
  APP_VALUE_INVALID,
  RUN_DATABASE,
  RUN_DATABASE_BUSY
}
const writeErrors = { ...tableErrors, RUN_CONSTRAINT, RUN_DATABASE_FULL }

/** Comparisons of a filter. */
export const FILTER_OPS = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'contains', 'is_null', 'not_null'] as const

export const appTableRows = defineOperation({
  id: 'app.table.rows',
  summary: 'Show rows of a table of a served program',
  description:
    'Values have the JSON form of the program. An integer beyond 2^53 is a text of digits, a text of more than 65,536 characters is {"$omitted": length}, and a value that does not have the type of its column is {"$stored": value}.',
  input: t.object({
    app,
    table,
    filter: t.array(
      t.object({
        column: t.string({ minLength: 1, maxLength: 255 }),
        op: t.enum(FILTER_OPS, { default: 'eq' }),
        value: t.optional(t.unknown())
      }),
      { default: [], maxItems: 20, description: 'Conditions that all must be true.' }
    ),
    sort: t.optional(
      t.string({ minLength: 1, maxLength: 256, description: 'Column; with a leading - in descending order.' })
    ),
    limit: t.integer({ default: 100, minimum: 1, maximum: 500, description: 'Maximum number of rows.' }),
    cursor: t.optional(t.string({ maxLength: 4_096, description: 'Cursor of the previous page.' }))
  }),
  output: t.object({
    rows: t.array(row),
    columns: t.array(t.string()),
    total: t.nullable(t.integer({ description: 'Number of matching rows, on the first page; at most 100,000.' })),
    cursor: t.nullable(t.string({ description: 'For the next page; null on the last.' })),
    note: t.string()
  }),
  errors: { ...tableErrors, APP_CURSOR_INVALID },
  effect: 'read',
  scopes: SCOPES,
  expose: {
    rpc: true,
    cli: { command: 'app table rows', args: ['app', 'table'], view: { rows: 'rows', note: 'note' } }
  }
})

export const appTableUpdate = defineOperation({
  id: 'app.table.update',
  summary: 'Change columns of one row, unless the row was changed since it was read',
  input: t.object({
    app,
    table,
    key,
    before: values('The values that were read, at least of each changed column.'),
    after: values('The new values of the changed columns.')
  }),
  output: t.object({ row }),
  errors: { ...writeErrors, APP_ROW_UNKNOWN, APP_ROW_CHANGED },
  effect: 'write',
  scopes: SCOPES,
  expose: { rpc: true, cli: { command: 'app table update', args: ['app', 'table', 'key'] } }
})

export const appTableInsert = defineOperation({
  id: 'app.table.insert',
  summary: 'Add a row to a table of a served program',
  input: t.object({
    app,
    table,
    values: values('Values by column. An omitted column gets its default.')
  }),
  output: t.object({ row }),
  errors: writeErrors,
  effect: 'write',
  scopes: SCOPES,
  expose: { rpc: true, cli: { command: 'app table insert', args: ['app', 'table'] } }
})

export const appTableDelete = defineOperation({
  id: 'app.table.delete',
  summary: 'Delete one row of a table of a served program',
  input: t.object({
    app,
    table,
    key,
    before: t.optional(values('The values that were read. The row is kept if they have changed.'))
  }),
  output: t.object({ row, text: t.string() }),
  errors: { ...writeErrors, APP_ROW_UNKNOWN, APP_ROW_CHANGED },
  effect: 'destructive',
  scopes: SCOPES,
  expose: {
    rpc: true,
    cli: { command: 'app table delete', args: ['app', 'table', 'key'], view: { text: 'text' } }
  }
})

export const appSearch = defineOperation({
  id: 'app.search',
  summary: 'Find served programs, their routes and tables by name',
  input: t.object({ text: t.string({ maxLength: 1000, description: 'Part of a name.' }) }),
  output: dashboardSearchOutput,
  effect: 'read',
  expose: {
    rpc: true,
    cli: { command: 'app search', args: ['text'], view: { rows: 'results', columns: ['kind', 'title', 'link'] } }
  }
})
