import { type A2aBus, a2aBus, databaseStore, type PrimaryDatabase } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'
import { FakeOrchestrator } from './fake-orchestrator.ts'

/** Opens the plugin with a real database and a fake orchestrator with three agents. */
export async function openWorld(
  t: Test,
  parts: { readonly database?: false | { readonly path?: string }; readonly settings?: object } = {}
) {
  const fake = new FakeOrchestrator(3)
  let bus: { readonly current: A2aBus } | undefined
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { bus: ref(a2aBus) },
    optional: { store: ref(databaseStore) },
    activate(_ctx, deps) {
      bus = deps.bus
      store = deps.store
    }
  })
  const { database: databaseSettings = {}, settings = {} } = parts
  const others = databaseSettings === false ? [] : [database as Plugin]
  const kernel = await testKernel([fake.plugin(), plugin as Plugin, probe as Plugin, ...others], {
    settings: { a2a: settings, ...(databaseSettings === false ? {} : { database: databaseSettings }) }
  })
  t.teardown(() => kernel.close())
  return {
    kernel,
    fake,
    get bus() {
      return bus!.current
    },
    get store() {
      return store!.current
    }
  }
}
