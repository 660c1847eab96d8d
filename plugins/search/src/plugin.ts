import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import {
  type DatabaseStore,
  databaseStore,
  inferenceEmbeddings,
  kernelAdmin,
  type PrimaryDatabase,
  remoteEmbeddings,
  type SearchSource,
  type SearchTier,
  search,
  searchSources,
  searchTiers
} from '@svc/contracts'
import { definePlugin, errorMessage, type PluginContext, ref } from '@svc/plugin-sdk'
import { PageReader } from './adapters/page-reader.ts'
import { qdrantTier } from './adapters/qdrant.ts'
import { TavilyBudget } from './adapters/tavily-budget.ts'
import { duckDuckGoTier, searxngTier, tavilyTier } from './adapters/web-tiers.ts'
import { contributePages } from './console.ts'
import { ModelEmbedder } from './engine/query-embedder.ts'
import { SearchEngine } from './engine/search-engine.ts'
import { searchErrors } from './errors.ts'
import { ProjectIndex } from './indexing/project-index.ts'
import {
  corpusHandler,
  queryKnowledge,
  queryRepoFile,
  queryRepoText,
  repoFileHandler,
  repoTextHandler,
  searchMemories
} from './operations/corpus-operations.ts'
import { indexHandler, indexOperation, indexStateHandler, indexStateOperation } from './operations/index-operations.ts'
import {
  forgetKnowledge,
  forgetKnowledgeHandler,
  listKnowledge,
  listKnowledgeHandler,
  storeKnowledge,
  storeKnowledgeHandler
} from './operations/knowledge-operations.ts'
import {
  forgetHandler,
  forgetMemory,
  listHandler,
  listMemories,
  recallHandler,
  recallMemory,
  storeHandler,
  storeMemory
} from './operations/memory-operations.ts'
import { resultsHandler, resultsOperation } from './operations/results-operation.ts'
import {
  explainHandler,
  explainOperation,
  queryHandler,
  queryOperation,
  SEARCH_TOPIC,
  stateHandler,
  stateOperation
} from './operations/search-operations.ts'
import { clamp } from './score/scores.ts'
import type { Settings } from './settings.ts'
import { settings } from './settings.ts'
import { recordFusion } from './store/fusion-metric.ts'
import { Knowledge } from './store/knowledge.ts'
import { Library } from './store/library.ts'
import { Memories, type Memory } from './store/memories.ts'
import { StoredVectors } from './store/vectors.ts'
import { chunkVectorTier } from './tiers/chunk-vectors.ts'
import { chunkScanTier, knowledgeScanTier, knowledgeTier } from './tiers/knowledge.ts'
import { memoryScanTier, memoryTier } from './tiers/memory.ts'
import { MEMORY_SOURCE, memoryVectorTier } from './tiers/memory-vectors.ts'
import { chunkTier } from './tiers/passages.ts'
import { RepoInventory, repoInventoryTier } from './tiers/repo-inventory.ts'
import { repoTextTier } from './tiers/repo-text.ts'
import { symbolTier } from './tiers/symbols.ts'
import { TextRoot } from './tiers/text-root.ts'
import { ChunkVectors } from './vectors/chunk-vectors.ts'

export default definePlugin({
  name: 'search',
  summary: 'Search over memories, knowledge, documents, the project and the web',
  config: settings,
  optional: {
    database: databaseStore,
    admin: kernelAdmin,
    models: ref(inferenceEmbeddings),
    remote: ref(remoteEmbeddings)
  },
  provides: [search],
  points: [searchTiers, searchSources],
  operations: [
    ...[indexOperation, indexStateOperation, queryOperation, explainOperation, stateOperation, resultsOperation],
    ...[storeMemory, recallMemory, listMemories, forgetMemory, searchMemories],
    ...[storeKnowledge, listKnowledge, forgetKnowledge, queryKnowledge, queryRepoText, queryRepoFile]
  ],
  permissions: { fsRead: ['.'], childProcess: true, worker: true },
  activate(ctx, { database, admin, models, remote }) {
    const { projectRoot } = ctx
    const config = (): Settings => ctx.config
    const bm25 = () => ({ k1: config().bm25_k1, b: config().bm25_b })
    const library = new Library(() => database)
    const inventory = new RepoInventory({ projectRoot, settings: config })
    const embedder = new ModelEmbedder({
      projectRoot,
      models: () => models?.available,
      folder: () => config().embedding_folder,
      remote: () => remote?.available,
      allowsRemote: () => config().embedding_remote
    })
    ctx.effect('embedding model', () => embedder.close())
    const vectors = new StoredVectors(library, () => config().embedding_candidate_multiplier)
    const chunkVectors = new ChunkVectors({ library, embedder, maximum: () => config().index_max_vectors })
    ctx.effect('vectors of passages', () => chunkVectors.close())
    const textRoot = new TextRoot({
      root: () => {
        const { tantivy_root } = config()
        return tantivy_root === undefined ? undefined : resolve(projectRoot, tantivy_root)
      },
      problem: () => library.problem ?? (library.capabilities?.fts ? null : 'the database has no full-text search'),
      open: root => openTextIndex(ctx, database, root)
    })
    ctx.effect('index of tantivy_root', () => textRoot.close())
    const web = { settings: config, pages: new PageReader(config) }
    const own: readonly SearchTier[] = [
      memoryTier(library, bm25, Date.now),
      memoryScanTier(library, Date.now),
      knowledgeTier(library),
      knowledgeScanTier(library),
      chunkTier(library, bm25),
      chunkScanTier(library),
      repoTextTier({
        projectRoot,
        maxFiles: () => config().live_files,
        isIndexed: () => library.isIndexed,
        bm25
      }),
      repoInventoryTier(inventory),
      symbolTier(library),
      memoryVectorTier(library, vectors, embedder),
      chunkVectorTier(library, chunkVectors, embedder),
      textRoot.tier(),
      qdrantTier(config, embedder),
      searxngTier(web),
      duckDuckGoTier(web),
      tavilyTier(web, new TavilyBudget(config))
    ]
    let contributed: readonly SearchTier[] = []
    ctx.follow(searchTiers, items => {
      contributed = items
    })
    const engine = new SearchEngine({
      settings: config,
      tiers: () => [...own, ...contributed],
      database: () => library.open(),
      onResult: result =>
        void recordFusion(library, result, clamp(config().memory_vector_weight, 0, 1)).catch(error =>
          ctx.log.warn('a metric of the search could not be stored', { reason: errorMessage(error) })
        )
    })
    ctx.provide(search, engine)
    let sources: readonly SearchSource[] = []
    const index = new ProjectIndex({
      projectRoot,
      database,
      settings: config,
      serves: admin?.serves === true,
      sources: () => sources,
      completeVectors: (signal, onProgress) => chunkVectors.complete(signal, onProgress),
      onChange: () => ctx.changed(SEARCH_TOPIC),
      log: ctx.log
    })
    ctx.effect('index of the project', () => index.close())
    ctx.onConfig((next, previous) => {
      if (next.index_skip_sources.join() !== previous.index_skip_sources.join()) index.sourcesChanged()
    })
    ctx.follow(searchSources, items => {
      sources = items
      index.sourcesChanged()
    })
    ctx.implement(indexOperation, indexHandler(index))
    ctx.implement(indexStateOperation, indexStateHandler(index))
    void index.resume()
    const parts = { service: engine, library, settings: config }
    ctx.implement(queryOperation, queryHandler(parts))
    ctx.implement(explainOperation, explainHandler(parts))
    ctx.implement(stateOperation, stateHandler(parts))
    ctx.implement(resultsOperation, resultsHandler(parts))
    contributePages(ctx)
    const memories = new Memories(library, Date.now)
    const changed = (): void => ctx.changed(SEARCH_TOPIC)
    const vectorOf = {
      // A note without a vector is found by its words.
      async store({ key, title, body }: Memory, signal: AbortSignal): Promise<void> {
        await vectors.remove(MEMORY_SOURCE, key)
        if (embedder.unavailable() !== null) return
        const { model, vector } = await embedder.embed(`${title}\n${body}`, signal, 'document')
        await vectors.store(MEMORY_SOURCE, key, model, vector)
      },
      remove: (key: string) => vectors.remove(MEMORY_SOURCE, key)
    }
    ctx.implement(storeMemory, storeHandler(memories, vectorOf, changed, ctx.log))
    ctx.implement(recallMemory, recallHandler(memories))
    ctx.implement(listMemories, listHandler(memories))
    ctx.implement(forgetMemory, forgetHandler(memories, vectorOf, changed))
    const knowledge = new Knowledge(library)
    ctx.implement(storeKnowledge, storeKnowledgeHandler(knowledge, changed))
    ctx.implement(listKnowledge, listKnowledgeHandler(knowledge))
    ctx.implement(forgetKnowledge, forgetKnowledgeHandler(knowledge, changed))
    ctx.implement(searchMemories, corpusHandler(engine, 'memory'))
    ctx.implement(queryKnowledge, corpusHandler(engine, 'knowledge_graph'))
    const repo = { projectRoot, inventory, settings: config, bm25 }
    ctx.implement(queryRepoText, repoTextHandler(repo))
    ctx.implement(queryRepoFile, repoFileHandler(repo))
  }
})

/** Opens the index of a root, which is made again if it is lost. */
async function openTextIndex(
  ctx: PluginContext,
  database: PrimaryDatabase | undefined,
  root: string
): Promise<DatabaseStore> {
  if (database === undefined) throw searchErrors.create('SRH_DATABASE_MISSING', 'the plugin database is off')
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16)
  return database.open({ file: join(await ctx.dataDirectory(), `text-root-${name}.db`) })
}
