import { basename, join, resolve } from 'node:path'
import {
  benchmarkRecorder,
  databaseStore,
  generationFlipped,
  httpListeners,
  httpRoutes,
  httpServer,
  inferenceClient,
  inferenceEmbeddings,
  inferenceEngine,
  inferenceGrammars,
  isLoopback,
  type KernelPort,
  kernelAdmin,
  kernelPort,
  metricsText,
  modelAnswer,
  modelAnswered,
  modelHooks,
  modelRequest,
  modelToolCall,
  NO_MODEL_HOOKS,
  observabilitySpans,
  ownModelServer,
  readiness
} from '@svc/contracts'
import { definePlugin, type PluginContext, ref } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { ActivityFeed, both } from './activity-feed.ts'
import {
  adaptersAdd,
  adaptersList,
  adaptersRemove,
  addAdapter,
  listAdapters,
  removeAdapter
} from './adapter-operations.ts'
import { AdapterRoots } from './adapter-roots.ts'
import { AddressFile } from './address-file.ts'
import { benchModel, modelBench } from './bench-operation.ts'
import { Catalogue, type CatalogueEntry } from './catalogue/catalogue.ts'
import { LocalStore } from './catalogue/local-store.ts'
import { catalogueOperations, implementCatalogue } from './catalogue/operations.ts'
import { chatWithModel, listChoices, modelChat, modelChoices } from './chat-operation.ts'
import { ClientPass } from './client-pass.ts'
import { Completions } from './completions.ts'
import { contributeConsole } from './console.ts'
import { readDefaults } from './defaults/read-defaults.ts'
import { configuredEmbedders } from './embeddings/configured.ts'
import { compareTexts, listEmbedderStates, modelEmbedders, modelSimilarity } from './embeddings/operations.ts'
import { Grammars } from './grammars.ts'
import { loadModel, modelLoad, modelUnload, unloadModel } from './load-operations.ts'
import { defaultMemoryLimit, MemoryBudget } from './memory-budget.ts'
import { LazyMetrics } from './metrics.ts'
import { ModelActivity } from './model-activity.ts'
import { type LoaderOptions, ModelLoader } from './model-loader.ts'
import { generateText, listModels, modelGenerate, modelList } from './operations.ts'
import { LOCAL_ORIGINS } from './origins.ts'
import { type Listening, OwnClient } from './own-client.ts'
import { hubsOf, PULL_LIMITS } from './pull/limits.ts'
import { modelPull, pullModel } from './pull/operation.ts'
import { Puller } from './pull/puller.ts'
import { RequestTaps } from './request-taps.ts'
import { configuredResponses } from './responses/configured.ts'
import { MODEL_SERVER_ROUTES, modelServerRoutes } from './routes.ts'
import { modelRun, runModel } from './run-operation.ts'
import { runServeCommand, serveCommand } from './serve-command.ts'
import { ServedModel } from './served-model.ts'
import { type ModelSlot, ServedModels } from './served-models.ts'
import { settings } from './settings.ts'
import { MODELS_TOPIC, modelStats, STATISTICS_TOPIC, showStatistics } from './statistics-operation.ts'
import { UnknownModels } from './unknown-models.ts'

const LISTENER = 'model-server'
const BUNDLED_MODEL = ['models', 'vox-tiny']

const HEALTH = { idle: 'ok', loading: 'degraded', ready: 'ok', unloaded: 'ok', failed: 'failed' } as const

/** End of the name of a GGUF file, which may be part of a set. */
const GGUF_ENDING = /(?:-\d{5}-of-\d{5})?\.gguf$/

export default definePlugin({
  name: 'model-server',
  summary: 'Serves a language model through the OpenAI and Ollama APIs',
  requires: { engine: inferenceEngine },
  // A ref, so that a change of the client does not reload this plugin and its model.
  optional: {
    client: ref(inferenceClient),
    http: ref(httpServer),
    embeddings: inferenceEmbeddings,
    kernel: kernelPort,
    admin: kernelAdmin,
    spans: ref(observabilitySpans),
    recorder: ref(benchmarkRecorder),
    database: ref(databaseStore)
  },
  // This plugin drains before http, which carries its requests.
  after: ['http'],
  provides: [ownModelServer],
  points: [inferenceGrammars],
  hooks: [modelRequest, modelAnswer, modelToolCall, modelAnswered],
  config: settings,
  operations: [
    modelList,
    modelStats,
    modelLoad,
    modelUnload,
    modelGenerate,
    modelBench,
    modelChat,
    modelChoices,
    adaptersList,
    adaptersAdd,
    adaptersRemove,
    ...catalogueOperations,
    modelPull,
    modelRun,
    modelEmbedders,
    modelSimilarity
  ],
  commands: [serveCommand],
  async activate(ctx, { engine, client, embeddings, http, kernel, admin, spans, recorder, database }) {
    const { model, model_name, host, port, api_key } = ctx.config
    const directory = model === undefined ? join(ctx.packageRoot, ...BUNDLED_MODEL) : resolve(ctx.projectRoot, model)
    const modelsChanged = () => ctx.changed(MODELS_TOPIC)
    const name = model_name ?? (basename(directory).replace(GGUF_ENDING, '') || 'vox-schola-local')
    const metrics = await ctx.keep(
      'metrics 1',
      () => new LazyMetrics(),
      () => undefined
    )
    const limits = () => ({
      queue: ctx.config.queue,
      maxTokens: ctx.config.max_tokens,
      temperature: ctx.config.temperature,
      timeoutMs: ctx.config.request_timeout_seconds * 1000
    })
    const stateFolder = kernel === undefined ? await ctx.dataDirectory() : join(kernel.stateRoot, 'plugins', ctx.name)
    const catalogue = new Catalogue(join(stateFolder, 'models.json'), ctx.config.models, ctx.projectRoot, modelsChanged)
    const budget = new MemoryBudget(() => ctx.config.memory_limit_bytes ?? defaultMemoryLimit())
    const open = async (
      entry: Pick<CatalogueEntry, 'name' | 'path' | 'defaults'> & Pick<ModelSlot, 'source'>,
      loading: Pick<LoaderOptions, 'replaces' | 'onDemand'>
    ): Promise<ModelSlot> => {
      const defaults = await readDefaults(entry)
      for (const note of defaults.notes) ctx.log.info(`model '${entry.name}': ${note}`)
      const served = new ServedModel(entry.name, entry.path, modelsChanged, defaults)
      const activity = await ctx.keep(
        `activity 1 ${entry.name}`,
        () => new ModelActivity(),
        () => undefined
      )
      const capacity = () => (served.state.status === 'ready' ? served.state.model.capacity() : undefined)
      const feed = new ActivityFeed(activity, capacity, () => ctx.changed(STATISTICS_TOPIC))
      const stopFeed = ctx.effect(`activity feed of ${entry.name}`, () => feed.stop())
      const completions = new Completions(served, limits, both(metrics, feed), () => spans?.available)
      const stopCompletions = ctx.effect(`running completions of ${entry.name}`, () => completions.stop())
      // A model under two names shares its weights, and so its adapters.
      const adapters = entry.path === directory ? ctx.config.adapters : {}
      const weights = new ModelLoader(ctx, engine, served, { ...loading, adapters, budget })
      const retire = async () => {
        await weights.retire()
        await stopFeed()
        await stopCompletions()
      }
      return { served, weights, completions, activity, source: entry.source, retire }
    }
    const primary = await open({ name, path: directory, source: 'primary' }, { replaces: await hasPredecessor(ctx) })
    const { served, weights: loader } = primary
    const responses = await configuredResponses(ctx, database)
    const models = new ServedModels(primary, catalogue, entry => open(entry, { onDemand: true }), ctx.log)
    const puller = new Puller({
      folder: resolve(ctx.projectRoot, ctx.config.models_folder ?? join(stateFolder, 'models')),
      projectRoot: ctx.projectRoot,
      catalogue,
      hubs: () => hubsOf(ctx.config),
      unfinishedDays: () => ctx.config.unfinished_days,
      ...PULL_LIMITS
    })
    ctx.onServe('unfinished downloads', () => {
      ctx.background('delete old unfinished downloads', async () => {
        for (const path of await puller.discardOld()) ctx.log.info(`deleted the unfinished download ${path}`)
      })
    })
    const { embedding_model, reranker_model } = ctx.config
    const otherPaths = [embedding_model, reranker_model].flatMap(path => path ?? [])
    const absolute = otherPaths.map(path => resolve(ctx.projectRoot, path))
    const store = new LocalStore(models, catalogue, puller, absolute)
    const embedders = configuredEmbedders(ctx, embeddings, asked => models.has(asked), modelsChanged)
    const grammars = new Grammars(() => ctx.config.grammar)
    const address = () => http?.available?.addresses.find(({ listener }) => listener === LISTENER)
    const listening: Listening = {
      host,
      get port() {
        // Setting 0 lets the system choose a port.
        return port === 0 ? (address()?.port ?? 0) : port
      }
    }
    const ownClient = new OwnClient(client, models, listening)
    const pass = new ClientPass(listening)
    const hooks = modelHooks(ctx)
    ctx.provide(ownModelServer, pass)
    ctx.onConfig(() => {
      for (const { weights } of models.opened()) weights.stayAsConfigured()
    })

    if (api_key === undefined && !isLoopback(host)) {
      ctx.log.warn(
        `anyone who can reach ${host}:${port} can use the model; set plugins.model-server.api_key or a loopback host`
      )
    }
    ctx.contribute(httpListeners, {
      name: LISTENER,
      host,
      port,
      setting: 'plugins.model-server.port',
      guard: 'own',
      origins: { allowed: [...LOCAL_ORIGINS, ...ctx.config.origins], setting: 'plugins.model-server.origins' },
      // Ollama's format, except for the routes of the OpenAI API.
      errors: { '/': 'plain', '/v1': 'openai' }
    })
    ctx.contribute(httpRoutes, {
      listener: LISTENER,
      routes: MODEL_SERVER_ROUTES,
      register: app => {
        loader.begin()
        return modelServerRoutes(app as FastifyInstance, {
          models,
          store,
          grammars,
          responses,
          ...embedders,
          log: ctx.log,
          taps: (headers, { name }) => new RequestTaps(pass.isIn(headers) ? NO_MODEL_HOOKS : hooks, name),
          unknownModels: new UnknownModels(ctx.log),
          version: ctx.version,
          host,
          apiKey: api_key,
          maxBodyBytes: ctx.config.max_body_bytes,
          stallMs: () => ctx.config.stall_seconds * 1000
        })
      }
    })
    ctx.follow(inferenceGrammars, offered => grammars.replace(offered))
    const serve = (): void => {
      loader.serving()
      ctx.background('compare the client of this process', async signal => {
        if (await loader.begun(signal)) ownClient.report(ctx.log)
      })
    }
    if (kernel !== undefined) await publishAddress(ctx, kernel, () => address()?.url)
    ctx.onServe('model', serve, { prepare: () => loader.beforeServing() })
    ctx.contribute(metricsText, {
      render: () => metrics.render(models.loaded())
    })
    ctx.contribute(readiness, {
      name: 'model-server',
      // An unloaded model is ready too: the next request loads it again.
      check: () => ({
        ok: served.state.status !== 'failed' && served.known !== undefined,
        detail: served.describe()
      })
    })
    ctx.health('client of this process', () => ownClient.health())
    ctx.health('model', () => ({ status: HEALTH[served.state.status], detail: served.describe() }))
    ctx.implement(modelList, listModels(models, { url: () => address()?.url, keyRequired: api_key !== undefined }))
    ctx.implement(modelStats, showStatistics(models))
    ctx.implement(modelGenerate, generateText(models, grammars, hooks))
    ctx.implement(modelBench, benchModel({ models, recorder, admin }))
    ctx.implement(modelLoad, loadModel(models))
    ctx.implement(modelUnload, unloadModel(models))
    const chat = { models, grammars, hooks, client, listening }
    ctx.implement(modelChat, chatWithModel(chat))
    ctx.implement(
      modelChoices,
      listChoices(chat, () => address()?.url)
    )
    ctx.implement(adaptersList, listAdapters(models))
    const roots = new AdapterRoots(ctx.projectRoot, ctx.config.adapter_roots)
    ctx.implement(adaptersAdd, addAdapter(models, roots, modelsChanged))
    ctx.implement(adaptersRemove, removeAdapter(models, modelsChanged))
    implementCatalogue(ctx, { models, catalogue, store, projectRoot: ctx.projectRoot })
    ctx.implement(modelPull, pullModel(store))
    ctx.implement(modelRun, runModel(models, grammars, hooks))
    ctx.implement(modelEmbedders, listEmbedderStates(embedders))
    ctx.implement(modelSimilarity, compareTexts(embedders))
    contributeConsole(ctx)
    ctx.command(serveCommand.command, runServeCommand(ctx.packageRoot))
  }
})

/** Writes the address of the server to a file whenever it serves, for commands in other processes. */
async function publishAddress(
  ctx: Pick<PluginContext, 'keep' | 'onServe' | 'on' | 'log'>,
  { stateRoot }: Pick<KernelPort, 'stateRoot'>,
  url: () => string | undefined
): Promise<void> {
  const file = await ctx.keep(
    'address file',
    () => new AddressFile(stateRoot),
    each => each.remove()
  )
  const write = (): void => {
    const now = url()
    try {
      if (now !== undefined) file.write(now)
    } catch (error) {
      ctx.log.warn('cannot write model-server.json; commands do not find this server if its port is 0', { error })
    }
  }
  ctx.onServe('address file', write)
  ctx.on(generationFlipped, write)
}

/** Resolves to true if an older instance of this plugin serves during the activation. */
async function hasPredecessor(ctx: Pick<PluginContext, 'keep'>): Promise<boolean> {
  let opened = false
  const open = () => {
    opened = true
  }
  await ctx.keep('presence', open, () => undefined)
  return !opened
}
