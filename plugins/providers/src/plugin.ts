import { databaseCollections, databaseStore, inferenceErrors, inferenceProviders, localInference } from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { activeHandler, listHandler, setHandler, suggestHandler, usageHandler } from './handlers.ts'
import { activeModel, listModels, modelUsage, operations, setModel, suggestModel, USAGE_TOPIC } from './operations.ts'
import { contributePages } from './pages.ts'
import { Planner } from './planner.ts'
import { ProviderRouter } from './router.ts'
import { Selections } from './selections.ts'
import { type Settings, settings } from './settings.ts'
import { UsageLedger } from './usage/ledger.ts'

export default definePlugin({
  name: 'providers',
  summary: 'Chooses between the local model server and hosted providers, and counts their usage',
  config: settings,
  optional: { database: databaseStore, collections: databaseCollections, local: ref(localInference) },
  provides: [inferenceProviders],
  operations,
  permissions: { fsRead: ['*'], fsWrite: ['*'] },
  activate(ctx, { database, collections, local }) {
    const { log } = ctx
    const current = (): Settings => ctx.config as Settings
    const changed = (): void => ctx.changed(USAGE_TOPIC)
    const ledger = new UsageLedger({ collections: () => collections, log, changed })
    const selections = new Selections(() => collections, log)
    const planner = new Planner({ settings: current, ledger, selections, store: () => database, log })
    ctx.provide(inferenceProviders, new ProviderRouter({ settings: current, planner, ledger, selections, log }))
    const parts = { settings: current, planner, ledger, selections, changed, local: () => localOf(local?.available) }
    ctx.implement(listModels, listHandler(parts))
    ctx.implement(suggestModel, suggestHandler(parts))
    ctx.implement(setModel, setHandler(parts))
    ctx.implement(activeModel, activeHandler(parts))
    ctx.implement(modelUsage, usageHandler(parts))
    contributePages(ctx)
    ctx.effect('usage that is not stored yet', () => ledger.flush())
  }
})

function localOf<A>(local: A | undefined): A {
  if (local !== undefined) return local
  throw inferenceErrors.create(
    'ICL_UNREACHABLE',
    'the plugin inference-client, which sends requests to models, is disabled',
    {
      hint: 'enable it with svc plugins enable inference-client'
    }
  )
}
