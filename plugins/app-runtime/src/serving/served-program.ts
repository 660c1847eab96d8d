// toestub-ignore(arch/god_object) - one class: the life of a served program, whose steps share its state
import { availableParallelism } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import {
  type DatabaseStore,
  databaseMigrated,
  type HttpServer,
  type KernelAdmin,
  type LanguageCompiler,
  type MeshActivities,
  type MeshStatus,
  type ObservabilitySpans,
  type PrimaryDatabase,
  type Program,
  type ProgramText,
  routingTerms,
  type SharedWorkflowRuns,
  workflowStep
} from '@svc/contracts'
import { errorMessage, isSvcError, type PluginContext, type Ref } from '@svc/plugin-sdk'
import { ACTIVITY_TOPIC, Activity } from '../apps/activity.ts'
import { APPS_TOPIC, appName, type ServedApps } from '../apps/served-apps.ts'
import type { EndedIdentities } from '../auth/ended-identities.ts'
import { openGuards } from '../auth/open-guards.ts'
import { openUsers } from '../auth/open-users.ts'
import { grantedCapabilities } from '../capabilities.ts'
import { accessTo } from '../database/access.ts'
import { processAnswers } from '../database/database-process.ts'
import { openPlace } from '../database/job-database.ts'
import { storeAnswers } from '../database/store-answers.ts'
import { runErrors } from '../errors.ts'
import { announceChanges } from '../live/announce-changes.ts'
import type { RunQuery } from '../live/query-watches.ts'
import { DevChannel } from '../pages/dev-channel.ts'
import { failedCall, problemOf } from '../pages/page-problem.ts'
import { preparePages } from '../pages/prepare-pages.ts'
import { firstPages, type PagesParts, showVersion } from '../pages/version-pages.ts'
import { compareSchema, migrateSchema } from '../schema/migrate.ts'
import { levelOf } from '../schema/plan.ts'
import { limitsOf, type Settings } from '../settings.ts'
import { collectFiles } from '../storage/collect-files.ts'
import { openFiles } from '../storage/serve-files.ts'
import { usesFiles } from '../storage/uses-files.ts'
import { HTTP_ANSWERS } from '../threads/http-requests.ts'
import { openServices, type ProgramServices } from '../threads/program-services.ts'
import { durableOptions, lookAfterDue, programKey } from '../workflows/look-after-due.ts'
import { databaseMeshQueue, sharedMeshQueue } from '../workflows/mesh-queue.ts'
import { MeshSteps } from '../workflows/mesh-steps.ts'
import type { DurableScheduler } from '../workflows/scheduler.ts'
import { sharedRunsAnswers } from '../workflows/shared-runs-answers.ts'
import { WORKFLOWS_TOPIC } from '../workflows/topic.ts'
import { appUrl, consoleUrl } from './addresses.ts'
import { recordCall } from './call-spans.ts'
import { type Endpoint, endpointsOf, isDurable } from './endpoints.ts'
import { LoadingThread, type LoadParts } from './loading-thread.ts'
import { openLookups } from './lookups.ts'
import { ProgramPool } from './program-pool.ts'
import type { OnEnd } from './program-routes.ts'
import { contributeProgram } from './program-surface.ts'
import { ProgramWatch } from './program-watch.ts'
import { runSchedule } from './schedule.ts'
import { scopeTerm } from './scope-term.ts'
import { showInBrowser } from './show-in-browser.ts'
import { ThreadSupply } from './thread-supply.ts'
import { runVite } from './vite.ts'

/** Minimum of the default thread limit, because threads may wait for files, the network or the clock. */
const MIN_THREADS = 4

export interface ServingParts extends PagesParts {
  readonly ctx: PluginContext<Settings>
  readonly compiler: LanguageCompiler
  readonly store: PrimaryDatabase
  readonly admin: KernelAdmin | undefined
  readonly services: ProgramServices
  readonly http: Ref<HttpServer> | undefined
  /** Replaces known secrets in a text. */
  readonly mask: (text: string) => string
  /** Records the SQL of requests. */
  readonly spans: Ref<ObservabilitySpans> | undefined
  /** Runs steps of workflows on other machines. */
  readonly meshActivities: Ref<MeshActivities> | undefined
  readonly meshStatus: Ref<MeshStatus> | undefined
  /** Runs on a server that other hosts share; null: they are in the database of the program. */
  readonly shared: SharedWorkflowRuns | null
  /** Announces identities that end. */
  readonly ended: EndedIdentities
  /** Receives the program once it is served. */
  readonly apps: ServedApps
}

/**
 * Serves the configured program: compiles it, loads it into a thread, and contributes its routes. Throws
 * `RUN_PROGRAM_INVALID` if it has errors, unless its file is watched and no version was served before.
 */
export async function serveProgram(parts: ServingParts, file: string): Promise<void> {
  const { ctx, compiler } = parts
  const { config, log } = ctx
  const path = resolve(ctx.projectRoot, file)
  const watch = await watchProgram(parts, path)
  const saved = watch?.saved ?? null
  const program = saved?.program ?? (await firstProgram(parts, path, watch))
  if (program === null) return
  if (watch !== null) watch.saved = null
  const channel = config.dev
    ? await ctx.keep(
        `open pages of ${path}`,
        () => new DevChannel(parts.mask),
        value => value.close()
      )
    : null
  const activity = config.dev ? openActivity(parts, path) : null
  const preparing = saved === null ? firstPages(parts, program) : Promise.resolve({ pages: saved.pages, problem: null })
  const supply = await ThreadSupply.open(ctx, config.heap_mb)
  const endpoints = endpointsOf(program)
  const hasDatabase = needsDatabase(program)
  const store = await storeOf(parts)
  const load = await loadOf(parts, store, program)
  const { durable, limits, database } = load
  const ownThread = database?.thread ?? null
  const threads = config.threads ?? Math.max(MIN_THREADS, availableParallelism())
  let scheduler: DurableScheduler | null = null
  const meshSteps = durable === null ? null : openMeshSteps(parts, store, durable.program, () => scheduler?.poke())
  // Effects end in reverse order, so leases are released after the threads have ended.
  ctx.effect(`run leases of ${file}`, () => scheduler?.release())
  const files = usesFiles(program) ? await openFiles(ctx, program, programKey(path, ctx.projectRoot), store) : null
  // Checked while the thread loads the program. Most changes of a program do not affect its tables.
  const isAsWanted = hasDatabase ? hasTables(store, program, ctx.projectRoot) : Promise.resolve(true)
  const services = openServices(parts.services)
  ctx.effect(`resources of ${file} in other plugins`, () => services.close())
  const onEnd: OnEnd = (end, origin, since) => {
    const spans = parts.spans?.available
    if (spans !== undefined && !end.isOnlyShown) recordCall(spans, end, origin, since)
    activity?.call(end, origin.requestId)
  }
  const pool = await ProgramPool.open({
    threads,
    endpoints,
    path: file,
    log,
    timeLimit: config.time_limit_ms,
    showsCalls: activity !== null,
    onEnd(end, { origin, since }) {
      if (origin === undefined) activity?.call(end, null)
      else onEnd(end, origin, since)
    },
    onLine: (line, requestId) => activity?.line(line, requestId),
    onDue() {
      // A run was started, or a message sent.
      ctx.changed(WORKFLOWS_TOPIC)
      scheduler?.poke()
    },
    onStep(step) {
      ctx.changed(WORKFLOWS_TOPIC)
      scheduler?.noteChange()
      void ctx.trigger(workflowStep, step).catch(() => {})
    },
    onMeshStep: () => meshSteps?.poke(),
    onRun() {
      ctx.changed(WORKFLOWS_TOPIC)
      scheduler?.noteChange()
    },
    onFailure(endpoint, failure, requestId) {
      if (requestId !== undefined) channel?.fail(failedCall(program, endpoint, failure, requestId))
    },
    thread: async isFirst => {
      const worker = isFirst ? await supply.take() : supply.start()
      const begun = saved?.thread ?? null
      return begun?.is(worker, load) ? begun : new LoadingThread(worker, load, endpoints.length)
    },
    answers: signal => ({
      ...HTTP_ANSWERS,
      ...services.answers,
      ...(files?.answers ?? {}),
      ...(parts.shared === null ? {} : sharedRunsAnswers(parts.shared)),
      ...(hasDatabase ? storeAnswers(async () => store, signal) : {}),
      ...(ownThread === null ? {} : processAnswers(ownThread, limits.bytes, signal))
    })
  })
  // A database in the main thread needs no warm-up in the next thread.
  supply.prepare({ program, limits, database: database?.thread === null ? null : database })
  ctx.effect(`threads of ${file}`, () => pool.close())
  ctx.health(`threads of ${file}`, () => {
    return pool.size > 0
      ? { status: 'ok' }
      : { status: 'failed', detail: `${file} has no thread; see the log for the reason` }
  })
  if (!(await isAsWanted)) {
    // The migration comes last, because the previous program still runs, and sees the new tables.
    const { notes, plan } = await migrateSchema(store, program, { projectRoot: ctx.projectRoot })
    for (const note of notes) log.warn(note, { program: file })
    if (plan.statements.length > 0)
      ctx.onServe(`tables of ${file}`, () => {
        ctx.trigger(databaseMigrated, { location: store.location, kind: 'program', program: file }).catch(() => {})
      })
  }
  const users = await openUsers(ctx, { program, store, access: database, pool, endpoints, ended: parts.ended })
  const guards = await openGuards(ctx, program, store, users === null ? [] : [users.verifier])
  const watching = activity === null ? {} : { onUpdate: activity.live.bind(activity) }
  const live = hasDatabase
    ? announceChanges(ctx, { store, program, ask: queriesOf(pool, endpoints), guards, ...watching })
    : null
  const forgotten = parts.ended.onEnd(isMeant => {
    guards.forget(isMeant)
    live?.recheck(isMeant)
  })
  ctx.effect(`identities of ${file}`, forgotten)
  scheduler = await lookAfterDue({ ctx, store, shared: parts.shared, pool, endpoints, threads }, durable)
  // Once all plugins are active: without the one of the mesh, a step would run here.
  if (scheduler !== null) ctx.onServe('steps for the mesh', () => meshSteps?.start())
  if (watch !== null) {
    reloadOnSave(parts, watch, program, channel, async next => {
      const worker = supply.waiting
      return worker && new LoadingThread(worker, await loadOf(parts, store, next), endpointsOf(next).length)
    })
  }
  const lookups = await openLookups(ctx, { program, endpoints, access: database, limits })
  const { pages, problem } = await preparing
  const { bundler, http } = parts
  if (files !== null) collectFiles(ctx, file, files.storage)
  const surface = {
    ctx,
    program,
    endpoints,
    pool,
    guards,
    lookups,
    compiler,
    live,
    files,
    calls: parts.apps.calls,
    onEnd,
    activity
  }
  contributeProgram({ ...surface, users, pages, channel, bundler, http, admin: parts.admin })
  if (channel !== null) {
    showVersion(parts, program, { pages, problem }, channel, () => watch?.again())
    if (watch?.isServed !== true) ctx.onServe(`addresses of ${file}`, () => announce(parts, file))
  }
  const term = scopeTerm(program, path, ctx.projectRoot)
  if (term !== null) ctx.contribute(routingTerms, term)
  const key = programKey(path, ctx.projectRoot)
  parts.apps.serve({
    name: appName(key),
    file: key,
    program,
    endpoints,
    store: hasDatabase ? store : null,
    since: Date.now(),
    threads: () => pool.size,
    isStale: () => channel?.isStale === true,
    nudge: () => live?.nudge()
  })
  ctx.onServe(`announcement of ${file}`, () => ctx.changed(APPS_TOPIC))
  if (watch !== null) watch.isServed = true
  runSchedule(ctx, program, pool)
  if (config.orchestrate_vite) await runVite(ctx, resolve(dirname(path), config.web_directory))
  if (config.open) {
    // After the flip, which opens the listener.
    const show = (): void => ctx.onServe('opening a browser', () => showInBrowser(`${appUrl(http, config.port)}/`))
    await ctx.keep('opening a browser', show, () => undefined)
  }
}

function openActivity({ ctx, mask, apps }: ServingParts, path: string): Activity {
  return new Activity({
    app: appName(basename(path)),
    log: ctx.log,
    rows: apps.activity,
    mask,
    changed: () => ctx.changed(ACTIVITY_TOPIC)
  })
}

/** Opens the steps that workflows of the program do on the mesh. */
function openMeshSteps(
  { ctx, meshActivities, meshStatus, shared }: ServingParts,
  store: DatabaseStore,
  program: string,
  onAnswer: () => void
): MeshSteps {
  const steps = new MeshSteps({
    queue: shared === null ? databaseMeshQueue(store, program) : sharedMeshQueue(shared, program),
    log: ctx.log,
    activities: () => meshActivities?.available,
    status: () => meshStatus?.available,
    onAnswer() {
      ctx.changed(WORKFLOWS_TOPIC)
      onAnswer()
    }
  })
  ctx.effect(`mesh steps of ${program}`, () => steps.close())
  return steps
}

/** Logs where a developer opens the program and the console. */
function announce({ ctx, admin, http }: ServingParts, file: string): void {
  const console = consoleUrl(admin, http)
  const more = console === null ? '' : `; console: ${console}`
  ctx.log.info(`${basename(file)}: ${appUrl(http, ctx.config.port)}/${more}`)
}

/** True if a durable database has the tables as declared, without warnings. */
async function hasTables(store: DatabaseStore, program: Program, projectRoot: string): Promise<boolean> {
  try {
    const plan = await compareSchema(store, program, { projectRoot })
    const { durable } = await store.capabilities()
    return durable && plan.statements.length === 0 && plan.notes.length === 0 && levelOf(plan) === null
  } catch {
    // The migration fails with the same error, and reports it.
    return false
  }
}

/** Returns a function that runs a query of the program by name, for live results. */
function queriesOf(pool: ProgramPool, endpoints: readonly Endpoint[]): RunQuery {
  return (name, query, caller) =>
    pool.ask(
      endpoints.findIndex(each => each.kind === 'query' && each.name === name),
      query,
      caller
    )
}

/** Opens the database of the program. A separate one outlives a reload. */
export async function storeOf({ ctx, store }: Pick<ServingParts, 'ctx' | 'store'>): Promise<DatabaseStore> {
  const { database } = ctx.config
  if (database === undefined) return store
  const place = database === 'memory' ? database : resolve(ctx.projectRoot, database)
  return ctx.keep(
    `database ${place}`,
    () => openPlace(store, place),
    value => value.close()
  )
}

/** Watches the file. Returns null if `watch` is off, or the plugin cannot reload itself. */
async function watchProgram({ ctx, admin }: ServingParts, path: string): Promise<ProgramWatch | null> {
  if (!ctx.config.watch || admin === undefined) return null
  return ctx.keep(
    `watch ${path}`,
    () => new ProgramWatch(path),
    value => value.close()
  )
}

/**
 * Compiles the program of a file. Returns null if a watched program has errors: it is served once they are corrected.
 * Throws the errors if the file is not watched, or a version of it was served before.
 */
async function firstProgram(parts: ServingParts, path: string, watch: ProgramWatch | null): Promise<Program | null> {
  const { ctx, compiler } = parts
  try {
    return await compiledFrom(path, compiler)
  } catch (error) {
    if (watch === null || watch.isServed || !isSvcError(error, 'RUN_PROGRAM_INVALID')) throw error
    ctx.log.error(`${error.message}\nthe program will be served once the errors are corrected`)
    ctx.health(`program ${path}`, () => ({ status: 'failed', detail: `${path} has errors` }))
    reloadOnSave(parts, watch, { path, text: '' }, null, async () => null)
    return null
  }
}

async function loadOf({ ctx, admin }: ServingParts, store: DatabaseStore, program: Program): Promise<LoadParts> {
  const { config } = ctx
  return {
    program,
    limits: limitsOf(config, config.steps),
    capabilities: grantedCapabilities(program, config.capabilities),
    database: needsDatabase(program) ? await accessTo(store) : null,
    durable: durableOptions(program, ctx, admin),
    // The plugin of the mesh may become active after this one.
    hasMesh: true
  }
}

/**
 * Replaces this program by each saved one without errors. `begin` starts loading it in a thread while the plugin is
 * reloaded.
 */
function reloadOnSave(
  { ctx, compiler, admin, generator, bundler }: ServingParts,
  watch: ProgramWatch,
  of: ProgramText,
  channel: DevChannel | null,
  begin: (program: Program) => Promise<LoadingThread | null>
): void {
  const { path, text } = of
  const { log } = ctx
  const reload = async (saved: string): Promise<void> => {
    const started = performance.now()
    const result = await compiler.compile({ path, text: saved }, { script: false })
    if (!result.ok) {
      const report = result.report.trimEnd()
      log.error(`${path} has errors; the previous program stays in service\n${report}`)
      const hint = 'save the corrected file; the previous version stays in service'
      channel?.refuse({
        title: `${basename(path)} has errors`,
        text: report,
        code: null,
        hint,
        calls: [],
        requestId: null
      })
      return
    }
    if (result.warnings !== '') log.warn(result.warnings.trimEnd())
    const { program } = result
    const [pages, thread] = await Promise.all([
      preparePages(program, { generator, bundler, config: ctx.config }),
      begin(program)
    ])
    watch.saved = { text: saved, program, thread, pages }
    try {
      await admin?.apply({ reload: [ctx.name] })
    } finally {
      watch.saved = null
    }
    log.info(`${path} was reloaded in ${Math.round(performance.now() - started)} ms`)
  }
  const listener = (saved: string): Promise<void> =>
    reload(saved).catch((error: unknown) => {
      // Not reported during shutdown.
      if (isSvcError(error, 'KRN_CLOSED')) return
      watch.forget()
      const reason = errorMessage(error)
      const hint = isSvcError(error) && error.hint !== undefined ? `\n${error.hint}` : ''
      log.error(`${path} was not reloaded; the previous program stays in service: ${reason}${hint}`)
      channel?.refuse(problemOf(`${basename(path)} was not reloaded`, error))
    })
  ctx.effect(`watching ${path}`, watch.listen(text, listener))
}

/** True if a program can use the database. Otherwise it is not opened. */
function needsDatabase(program: Program): boolean {
  const { module, facts } = program
  return facts.usesDatabase || usesFiles(program) || isDurable(program) || module.tables.length > 0
}

async function compiledFrom(path: string, compiler: LanguageCompiler): Promise<Program> {
  const [text] = await compiler.read([path])
  if (text === undefined) throw runErrors.create('RUN_PROGRAM_INVALID', `${path} is not a readable source file`)
  const result = await compiler.compile(text, { script: false })
  if (result.ok) return result.program
  throw runErrors.create('RUN_PROGRAM_INVALID', `${path} has errors:\n${result.report.trimEnd()}`, {
    at: { file: path },
    hint: `svc check ${path} shows them again`
  })
}
