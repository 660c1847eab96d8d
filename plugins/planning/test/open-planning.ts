import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type Fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import planning from '#plugin'
import { FakeOrchestrator, fakeOrchestratorPlugin } from './fake-orchestrator.ts'

export interface OpenPlanning {
  readonly kernel: TestKernel
  readonly fake: FakeOrchestrator
  /** Database that stores the plans. */
  readonly store: PrimaryDatabase
}

export interface OpenOptions {
  readonly settings?: object
  readonly services?: readonly Fake[]
  readonly fake?: FakeOrchestrator
}

/** Opens the plugin in the real kernel, with a real database and an orchestrator whose tasks the test ends. */
export async function openPlanning(options: OpenOptions = {}): Promise<OpenPlanning> {
  let store: PrimaryDatabase | undefined
  const spy = definePlugin({
    name: 'spy',
    requires: { store: databaseStore },
    activate(_ctx, deps) {
      store = deps.store
    }
  })
  const opened = await open([database, spy], options)
  if (store === undefined) throw new Error('the database was not provided')
  return { ...opened, store }
}

export function openWithoutDatabase(options: OpenOptions = {}): Promise<Omit<OpenPlanning, 'store'>> {
  return open([], options)
}

async function open(
  plugins: readonly Plugin[],
  { settings = {}, services = [], fake = new FakeOrchestrator() }: OpenOptions
): Promise<Omit<OpenPlanning, 'store'>> {
  const kernel = await testKernel([...plugins, fakeOrchestratorPlugin(fake), planning], {
    settings: { planning: settings },
    services
  })
  return { kernel, fake }
}

/** Waits until the condition returns a value, for at most two minutes. */
export async function until<A>(condition: () => Promise<A | null | undefined | false>): Promise<A> {
  const limit = performance.now() + 120_000
  for (;;) {
    const found = await condition()
    if (found !== null && found !== undefined && found !== false) return found
    if (performance.now() > limit) throw new Error('the condition did not hold within two minutes')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
