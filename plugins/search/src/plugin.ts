import { databaseStore, type SearchTier, search, searchTiers } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { SearchEngine } from './engine/search-engine.ts'
import {
  explainHandler,
  explainOperation,
  queryHandler,
  queryOperation,
  stateHandler,
  stateOperation
} from './operations/search-operations.ts'
import type { Settings } from './settings.ts'
import { settings } from './settings.ts'
import { Library } from './store/library.ts'
import { chunkScanTier, chunkTier, knowledgeScanTier, knowledgeTier } from './tiers/knowledge.ts'
import { memoryScanTier, memoryTier } from './tiers/memory.ts'
import { RepoInventory, repoInventoryTier } from './tiers/repo-inventory.ts'
import { repoTextTier } from './tiers/repo-text.ts'

export default definePlugin({
  name: 'search',
  summary: 'Search over memories, knowledge, documents, the project and the web',
  config: settings,
  optional: { database: databaseStore },
  provides: [search],
  points: [searchTiers],
  operations: [queryOperation, explainOperation, stateOperation],
  permissions: { fsRead: ['.'], childProcess: true, worker: true },
  activate(ctx, { database }) {
    const { projectRoot } = ctx
    const config = (): Settings => ctx.config
    const bm25 = () => ({ k1: config().bm25_k1, b: config().bm25_b })
    const library = new Library(() => database)
    const inventory = new RepoInventory({ projectRoot, settings: config })
    const own: readonly SearchTier[] = [
      memoryTier(library, bm25, Date.now),
      memoryScanTier(library, Date.now),
      knowledgeTier(library),
      knowledgeScanTier(library),
      chunkTier(library),
      chunkScanTier(library),
      repoTextTier({
        projectRoot,
        maxFiles: () => config().live_files,
        isIndexed: () => library.isIndexed,
        bm25
      }),
      repoInventoryTier(inventory)
    ]
    let contributed: readonly SearchTier[] = []
    ctx.follow(searchTiers, items => {
      contributed = items
    })
    const engine = new SearchEngine({
      settings: config,
      tiers: () => [...own, ...contributed],
      database: () => library.open()
    })
    ctx.provide(search, engine)
    const parts = { service: engine, library, settings: config }
    ctx.implement(queryOperation, queryHandler(parts))
    ctx.implement(explainOperation, explainHandler(parts))
    ctx.implement(stateOperation, stateHandler(parts))
  }
})
