import { type DatabaseStore, httpHandlers, httpUpgrades } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type AskQuery, type LiveService, openLive } from '#live'
import { openWorld, type World } from '../../../http/test/world.ts'
import { programFrom } from '../run-program.ts'
import { apply, openStore } from '../schema/schema-fixture.ts'

export const SOURCE = `@table type Note { title: str  n: int = 0 }
@table type Other { a: int }
@table type Silent { a: int }
@query fn notes(min: int) to List[Note] { db.Note.where({ n: { gte: min } }).live("notes") }
@query fn others() to List[Other] { db.Other.all().live("rest") }
@query fn silent() to List[Silent] { db.Silent.all() }
`

const NO_GUARDS = { of: () => null }

export interface LiveWorld {
  readonly world: World
  readonly store: DatabaseStore
  readonly live: () => LiveService
  /** Number of query runs so far. */
  readonly runs: () => number
  /** Lets the next runs fail. */
  readonly fail: (runs: number) => void
}

/** The real kernel and the real http plugin, with the streams of a program over a database in a file. */
export async function openLiveWorld(file?: string): Promise<LiveWorld & { readonly plugin: () => Plugin }> {
  const store = await openStore(file)
  await apply(store, SOURCE)
  let runs = 0
  let failures = 0
  let live: LiveService | null = null
  const ask: AskQuery = async (name, query) => {
    runs += 1
    if (failures-- > 0) return { status: 503, body: '{"error":"too many requests are running"}' }
    const min = Number(new URLSearchParams(query).get('min') ?? 0)
    if (Number.isNaN(min)) return { status: 400, body: '{"error":"min is not an int"}' }
    const sql =
      name === 'notes' ? 'SELECT title FROM note WHERE n >= ? ORDER BY _id' : 'SELECT a FROM other WHERE a >= ?'
    const { rows } = await store.query(sql, [min])
    return { status: 200, body: JSON.stringify(rows.flat()) }
  }
  const plugin = (): Plugin =>
    definePlugin({
      name: 'live',
      activate(ctx) {
        const opened = openLive({
          store,
          program: programFrom(SOURCE),
          ask,
          guards: NO_GUARDS,
          log: ctx.log
        }) as LiveService
        live = opened
        ctx.contribute(httpHandlers, { routes: opened.routes })
        ctx.contribute(httpUpgrades, opened.upgrade)
        ctx.background('streams', async signal => {
          if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve))
          opened.close()
        })
      }
    }) as Plugin
  const fail = (count: number): void => {
    failures = count
  }
  const world = await openWorld([plugin()])
  return { world, store, live: () => live as unknown as LiveService, runs: () => runs, fail, plugin }
}
