import { databaseStore, type PrimaryDatabase, type Questioning, questioning } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import { FakeOrchestrator } from '../../a2a/test/fake-orchestrator.ts'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'

/** Opens the plugin with a real database and a fake orchestrator that the test controls. */
export async function openWorld(t: Test, settings: object = {}, parts: { readonly database?: boolean } = {}) {
  const fake = new FakeOrchestrator(2)
  let service: { readonly current: Questioning } | undefined
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { service: ref(questioning) },
    optional: { store: ref(databaseStore) },
    activate(_ctx, deps) {
      service = deps.service
      store = deps.store
    }
  })
  const withDatabase = parts.database ?? true
  const kernel = await testKernel(
    [fake.plugin(), plugin as Plugin, probe as Plugin, ...(withDatabase ? [database as Plugin] : [])],
    { settings: { questioning: settings } }
  )
  t.teardown(() => kernel.close())
  return {
    kernel,
    fake,
    get service() {
      return service!.current
    },
    get store() {
      return store!.current
    }
  }
}
