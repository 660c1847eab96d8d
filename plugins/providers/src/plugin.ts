import {
  databaseCollections,
  databaseStore,
  declaredSecretResolver,
  declaredSecrets,
  inferenceProviders,
  kernelPort,
  localInference,
  remoteEmbeddings
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import {
  hideQuotaHandler,
  modelsFeedHandler,
  quotaInboxHandler,
  usageFeedHandler,
  usageSummaryHandler
} from './console/handlers.ts'
import { HiddenQuotas } from './console/hidden-quotas.ts'
import { consoleOperations, hideQuota, modelsFeed, quotaInbox, usageFeed, usageSummary } from './console/operations.ts'
import { contributePages } from './console/pages.ts'
import { ProviderEmbeddings } from './embeddings/providers.ts'
import { activeHandler, listHandler, setHandler, suggestHandler, usageHandler } from './handlers.ts'
import { activeModel, listModels, modelUsage, operations, setModel, suggestModel, USAGE_TOPIC } from './operations.ts'

import { Planner } from './planner.ts'
import { ProviderRouter } from './router.ts'
import { Selections } from './selections.ts'
import { type Settings, settings } from './settings.ts'
import { DECLARED_KEYS, StoredKeySource } from './stored-keys.ts'
import { UsageLedger } from './usage/ledger.ts'

const REFRESH_MS = 30_000

export default definePlugin({
  name: 'providers',
  summary: 'Chooses between the local model server and hosted providers, and counts their usage',
  config: settings,
  requires: { kernel: kernelPort, local: ref(localInference) },
  optional: { database: databaseStore, collections: databaseCollections, secrets: declaredSecretResolver },
  provides: [inferenceProviders, remoteEmbeddings],
  operations: [...operations, ...consoleOperations],
  permissions: { fsRead: ['*'], fsWrite: ['*'] },
  activate(ctx, { kernel, database, collections, local, secrets }) {
    const { log } = ctx
    const current = (): Settings => ctx.config as Settings
    const changed = (): void => ctx.changed(USAGE_TOPIC)
    const ledger = new UsageLedger({ collections: () => collections, log, changed })
    const selections = new Selections(() => collections, log)
    const keys = new StoredKeySource(() => secrets, log)
    const planner = new Planner({ settings: current, keys, ledger, selections, store: () => database, log })
    ctx.provide(inferenceProviders, new ProviderRouter({ settings: current, planner, ledger, selections, log }))
    ctx.provide(
      remoteEmbeddings,
      new ProviderEmbeddings({ settings: current, planner, ledger, local: () => local.current })
    )
    const parts = { planner, ledger, selections, changed, local: () => local.current }
    ctx.implement(listModels, listHandler(parts))
    ctx.implement(suggestModel, suggestHandler(parts))
    ctx.implement(setModel, setHandler(parts))
    ctx.implement(activeModel, activeHandler(parts))
    ctx.implement(modelUsage, usageHandler(parts))
    const hidden = new HiddenQuotas(() => collections, log)
    ctx.implement(usageSummary, usageSummaryHandler(parts))
    ctx.implement(usageFeed, usageFeedHandler(parts))
    ctx.implement(modelsFeed, modelsFeedHandler(parts))
    ctx.implement(quotaInbox, quotaInboxHandler(parts, hidden))
    ctx.implement(hideQuota, hideQuotaHandler(parts, hidden))
    contributePages(ctx)
    // The day ends, limits change, and other processes call models: open pages read again in intervals.
    const timer = setInterval(() => {
      if (kernel.topics.watched(USAGE_TOPIC)) changed()
    }, REFRESH_MS).unref()
    ctx.effect('refresh of open pages', () => clearInterval(timer))
    for (const each of DECLARED_KEYS) ctx.contribute(declaredSecrets, each)
    ctx.effect('usage that is not stored yet', () => ledger.flush())
  }
})
