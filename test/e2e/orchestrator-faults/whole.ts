import { type DatabaseStore, databaseStore, type Orchestrator, orchestrator as orchestratorToken } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import '../../../plugins/database/test/built-worker.ts'
import database from '@svc/plugin-database'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import planning from '@svc/plugin-planning'

export interface Whole {
  readonly kernel: TestKernel
  service(): Orchestrator
  readonly store: DatabaseStore
}

export interface WholeOptions {
  /** Layer between the plugins and their database. */
  wrap?(store: DatabaseStore): DatabaseStore
  readonly settings?: object
  readonly database?: object
}

/** Settings of the section `[orchestrator]` for fault tests. */
export const SETTINGS = {
  auto_continue_enabled: false,
  planning_enabled: true,
  planning_auto_mode_enabled: true,
  // The tasks write no real files.
  stubcheck_gate: false
}

/** Opens the real orchestrator, with plans, on a real database file. */
export async function openWhole(path: string, options: WholeOptions = {}): Promise<Whole> {
  let held: { readonly current: Orchestrator } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    activate(_ctx, deps) {
      held = deps.tasks
    }
  })
  const { wrap = store => store } = options
  let store: DatabaseStore | undefined
  const keep = (given: DatabaseStore): DatabaseStore => {
    store = wrap(given)
    return store
  }
  const plugins = [wrapped(keep), orchestratorPlugin, planning, probe] as Plugin[]
  const kernel = await testKernel(plugins, {
    settings: { database: { path, ...options.database }, orchestrator: { ...SETTINGS, ...options.settings } }
  })
  if (store === undefined) throw new Error('nothing provides the database')
  return {
    kernel,
    store,
    service() {
      if (held === undefined) throw new Error('nothing provides the orchestrator')
      return held.current
    }
  }
}

/** Opens only the database, as another process would. */
export async function openDatabase(path: string, settings: object = {}): Promise<Pick<Whole, 'kernel' | 'store'>> {
  let store: DatabaseStore | undefined
  const keep = (given: DatabaseStore): DatabaseStore => {
    store = given
    return given
  }
  const kernel = await testKernel([wrapped(keep)], { settings: { database: { path, ...settings } } })
  if (store === undefined) throw new Error('nothing provides the database')
  return { kernel, store }
}

/** Returns the database plugin, with its store wrapped by `wrap`. */
function wrapped(wrap: (store: DatabaseStore) => DatabaseStore): Plugin {
  const { activate } = database as Plugin
  return {
    ...database,
    activate(ctx, deps) {
      const own = new Proxy(ctx, {
        get(target, name) {
          const value = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          if (name !== 'provide') return value.bind(target)
          return (token: { id: string }, given: DatabaseStore) =>
            target.provide(token as never, (token.id === databaseStore.id ? wrap(given) : given) as never)
        }
      })
      return activate(own, deps)
    }
  } as Plugin
}
