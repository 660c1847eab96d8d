import type { DatabaseStore, HttpAddress, Program } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { ProgramTables } from '../database/program-tables.ts'
import type { TableShape } from '../database/table-shape.ts'
import { appErrors } from '../errors.ts'
import { mismatch } from '../wire/mismatch.ts'
import { describeFunctions, describeRoutes, describeTables, describeWorkflows } from './describe.ts'
import type {
  appActivity,
  appDescribe,
  appFeed,
  appList,
  appRequest,
  appSearch,
  appTableDelete,
  appTableInsert,
  appTableRows,
  appTableUpdate
} from './operations.ts'
import { requestApp } from './request.ts'
import { type AppEntry, appNames, type ServedApp, type ServedApps } from './served-apps.ts'
import { deleteRow, insertRow, updateRow } from './table-edits.ts'
import { readRows } from './table-rows.ts'

export interface AppHandlers {
  readonly list: Handler<typeof appList>
  readonly describe: Handler<typeof appDescribe>
  readonly feed: Handler<typeof appFeed>
  readonly activity: Handler<typeof appActivity>
  readonly request: Handler<typeof appRequest>
  readonly search: Handler<typeof appSearch>
  readonly rows: Handler<typeof appTableRows>
  readonly update: Handler<typeof appTableUpdate>
  readonly insert: Handler<typeof appTableInsert>
  readonly delete: Handler<typeof appTableDelete>
}

export interface AppServices {
  readonly apps: ServedApps
  /** Address of the listener of programs; undefined until it listens. */
  address(): HttpAddress | undefined
  /** Whether requests need the token of the http plugin. */
  needsToken(): boolean
}

export function appHandlers({ apps, address, needsToken }: AppServices): AppHandlers {
  const urlOf = ({ served }: AppEntry): string | null => (served === null ? null : (address()?.url ?? null))
  const auth = (): 'bearer' | 'none' => (needsToken() ? 'bearer' : 'none')
  const rows: AppHandlers['rows'] = async ({ app, table, ...request }) => {
    const { store, shape } = tableOf(apps.get(app), table)
    const { rows: found, total, cursor } = await readRows(store, shape, request)
    return {
      rows: [...found],
      columns: ['_id', ...shape.columns.map(({ name }) => name)],
      total,
      cursor,
      note: total === null ? '' : `${found.length} of ${total} rows`
    }
  }
  return {
    list: async () => {
      const entries = apps.list()
      return {
        apps: entries.map(entry => ({
          name: entry.name,
          file: entry.file,
          state: stateOf(entry),
          url: urlOf(entry),
          routes: entry.served?.endpoints.filter(({ route }) => route !== null).length ?? 0,
          tables: entry.served?.program.module.tables.length ?? 0,
          workflows: entry.served?.program.module.workflows.length ?? 0,
          threads: entry.served?.threads() ?? 0,
          loaded_at: entry.served === null ? null : new Date(entry.served.since).toISOString()
        })),
        note: entries.length === 0 ? 'this process serves no program; svc dev FILE serves one' : ''
      }
    },
    describe: async ({ app: name, schemas }) => {
      const app = apps.get(name)
      const { file, store, program } = app
      const entry = { name, file, served: app }
      const hasTables = program.module.tables.length > 0
      return {
        app: {
          name,
          file,
          state: stateOf(entry),
          url: urlOf(entry),
          database: hasTables ? (store?.location ?? null) : null,
          auth: auth()
        },
        routes: describeRoutes(app, auth(), schemas),
        tables: describeTables(app),
        functions: describeFunctions(app),
        workflows: describeWorkflows(app)
      }
    },
    feed: async ({ since, limit }) => {
      const { upsert, remove, ...delta } = apps.calls.read(since, limit)
      return { ...delta, upsert: [...upsert], remove: [...remove] }
    },
    activity: async ({ since, limit }) => {
      const { upsert, remove, ...delta } = apps.activity.read(since, limit)
      return { ...delta, upsert: upsert.map(row => ({ ...row, seq: Number(row.id) })), remove: [...remove] }
    },
    request: async (input, call) => {
      const { file } = apps.get(input.app)
      const listener = address()
      if (listener !== undefined) return requestApp(listener, input, call)
      throw appErrors.create('APP_REQUEST_FAILED', `${file} has no listener yet`, {
        hint: 'svc logs --plugin http shows why; repeat the request later'
      })
    },
    search: async ({ text }) => ({ results: appNames(apps.list(), text) }),
    rows,
    update: async ({ app: name, table, key, before, after }) => {
      const app = apps.get(name)
      const { store, shape } = tableOf(app, table)
      const row = await updateRow(store, shape, key, { before, after })
      app.nudge()
      return { row }
    },
    insert: async ({ app: name, table, values }) => {
      const app = apps.get(name)
      const { store, shape } = tableOf(app, table)
      const row = await insertRow(store, shape, values)
      app.nudge()
      return { row }
    },
    delete: async ({ app: name, table, key, before }) => {
      const app = apps.get(name)
      const { store, shape } = tableOf(app, table)
      const row = await deleteRow(store, shape, key, before)
      app.nudge()
      return { row, text: `deleted row ${key} of ${shape.name}` }
    }
  }
}

function stateOf({ served }: AppEntry): 'serving' | 'stale' | 'failed' {
  if (served === null || served.threads() === 0) return 'failed'
  return served.isStale() ? 'stale' : 'serving'
}

const tables = new WeakMap<Program, ProgramTables>()

/** Returns a declared table and its database. Throws `APP_TABLE_UNKNOWN` and `APP_NO_DATABASE`. */
function tableOf(
  { program, store, file }: ServedApp,
  name: string
): { readonly store: DatabaseStore; readonly shape: TableShape } {
  let known = tables.get(program)
  if (known === undefined) {
    // A member of a struct that has a default is required here: no function of the program runs.
    known = new ProgramTables(program, () => mismatch('a value', 'nothing'))
    tables.set(program, known)
  }
  const shape = known.shape(name)
  if (shape === undefined) {
    const names = program.module.tables.map(each => each.name).join(', ')
    throw appErrors.create('APP_TABLE_UNKNOWN', `${file} declares no table ${JSON.stringify(name.slice(0, 100))}`, {
      hint: names === '' ? 'the program declares no table' : `it declares ${names}`
    })
  }
  if (store !== null) return { store, shape }
  throw appErrors.create('APP_NO_DATABASE', `${file} has no database`, {
    hint: 'see plugins.app-runtime.database'
  })
}
