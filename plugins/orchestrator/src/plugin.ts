import { resolve } from 'node:path'
import {
  type AgentEvent,
  type CompletionGate,
  completionGates,
  coordinationStore,
  DelegatingOrchestrator,
  databaseStore,
  goalSubmitting,
  kernelAdmin,
  kernelPort,
  observabilitySpans,
  orchestrator,
  type RemotePlacer,
  type RoutingTerm,
  remotePlacers,
  repositoryTasks,
  rewardEvents,
  routingTerms,
  sendReward,
  sessionContext,
  stubScanner,
  taskChanged,
  taskEnded,
  taskSubmitting,
  taskViewSources
} from '@svc/contracts'
import { defined, definePlugin, errorMessage, isSvcError, type Logger, type PluginContext, ref } from '@svc/plugin-sdk'
import type { UnusableDatabase } from './durable/persistence.ts'
import { EventLog } from './events/log.ts'
import { toReward } from './events/reward.ts'
import { builtInGates } from './gates/built-in.ts'
import { type Core, type CoreOptions, makeCore } from './service/core.ts'
import { BUS_VERSION, EventOutlet } from './service/event-outlet.ts'
import { closeHub, HUB_VERSION, type Hub, openHub, takeOver, tickHub, type UnitServices } from './service/hub.ts'
import { levelledLog } from './service/levelled-log.ts'
import { LOG_TARGETS } from './service/remote-work.ts'
import { TaskSpans } from './service/task-spans.ts'
import { withMeshInference } from './settings/inference-base.ts'
import { checkSettings, replaceSettings, settings } from './settings.ts'
import { attachViews } from './views/attach-views.ts'

const TICK_MS = 1_000
/** Interval of attempts to open a database that could not be opened, in milliseconds. */
const RETRY_MS = 2_000

export default definePlugin({
  name: 'orchestrator',
  summary: 'Tasks, agents, queues, gates and ledgers of the repository',
  config: settings,
  requires: { kernel: kernelPort },
  optional: {
    store: databaseStore,
    admin: kernelAdmin,
    sessions: ref(sessionContext),
    spans: ref(observabilitySpans),
    stubs: ref(stubScanner),
    coordination: coordinationStore
  },
  provides: [orchestrator, repositoryTasks],
  hooks: [taskSubmitting, goalSubmitting, taskEnded, taskChanged, rewardEvents],
  points: [completionGates, routingTerms, taskViewSources, remotePlacers],
  permissions: { fsRead: ['*'], fsWrite: ['*'], childProcess: true },
  async activate(ctx, { kernel, store, admin, sessions, spans, stubs, coordination }) {
    checkSettings(ctx.config)
    // Components hold this object; live changes of settings update it in place.
    const report = (key: string) => admin?.settings(key).find(setting => setting.key === key)
    const current = { ...withMeshInference(ctx.config, report) }
    const log = levelledLog(ctx.log, () => current.log_level)
    const gpu = (name: string) => report(`plugins.inference-onnx.${name}`)?.value
    const [gpu_model, gpu_vram_mb] = [gpu('gpu_model'), gpu('gpu_vram_mb')]
    const options: CoreOptions = {
      settings: current,
      root: ctx.projectRoot,
      gpu: typeof gpu_model === 'string' && typeof gpu_vram_mb === 'number' ? { gpu_model, gpu_vram_mb } : undefined
    }
    const envelope = async (session: string) => sessions?.current.envelope(session) ?? null
    const own = builtInGates({
      settings: () => current,
      root: ctx.projectRoot,
      envelope,
      scanner: () => stubs?.available,
      warn: message => log.warn(message)
    })
    for (const gate of own) ctx.contribute(completionGates, gate, `gate ${gate.name}`)
    let gates: readonly CompletionGate[] = own
    let terms: readonly RoutingTerm[] = []
    ctx.follow(completionGates, items => {
      gates = items
    })
    ctx.follow(routingTerms, items => {
      terms = items
    })
    let placers: readonly RemotePlacer[] = []
    ctx.follow(remotePlacers, items => {
      placers = [...items].sort((one, other) => (one.name < other.name ? -1 : 1))
    })
    const taskSpans = new TaskSpans(() => spans?.available)
    const services: UnitServices = {
      newTraceId: () => taskSpans.newTraceId(),
      step: (name, attributes) => spans?.available?.step(ctx.name, name, attributes) ?? null,
      settings: current,
      store: store ?? null,
      log,
      gates: () => gates,
      routingTerms: () => terms,
      remotePlacers: () => placers,
      ended: async end => void (await ctx.trigger(taskEnded, end)),
      submitting: async submission => void (await ctx.trigger(taskSubmitting, submission)),
      goal: request => ctx.trigger(goalSubmitting, request),
      envelope,
      stubScanner: () => stubs?.available,
      setMode: async (session, mode) => {
        const envelope = await sessions?.current.envelope(session)
        if (envelope === undefined || envelope === null) return
        const { operating_mode, ...rest } = envelope
        await sessions?.current.put(session, mode === null ? rest : { ...rest, operating_mode: mode })
      }
    }
    const outlet = await ctx.keep(
      `events ${BUS_VERSION}`,
      () => new EventOutlet(ctx.log),
      () => {}
    )
    const { event_log } = current
    const eventLog =
      event_log === undefined
        ? null
        : await ctx.keep(
            `event log ${event_log}`,
            () => new EventLog({ file: resolve(ctx.projectRoot, event_log), log: ctx.log }),
            kept => kept.close()
          )
    const hubs: HubSource = { ctx, repositoryId: kernel.repositoryId, outlet, services, options }
    let joined = await joinHub(hubs)
    let isCurrent = false
    if (joined.core === null) outlet.log ??= eventLog
    ctx.onServe('import the state', () => {
      outlet.log = eventLog
      isCurrent = true
      if (joined.core !== null) takeOver(joined.hub, joined.services, joined.core)
    })

    const serves = (): boolean => joined.hub.services === joined.services
    const announce = (event: AgentEvent): void => {
      const { kind, timestamp_ms } = event
      if (!('task_id' in kind) || !kind.type.startsWith('task_') || !serves() || !ctx.isTapped(taskChanged)) return
      const transition = { task_id: kind.task_id, type: kind.type, at_ms: timestamp_ms, event }
      ctx.trigger(taskChanged, transition).catch(() => {})
    }
    ctx.effect('task transitions', outlet.bus.subscribe(announce))
    const reward = (event: AgentEvent): void => {
      if (!ctx.isTapped(rewardEvents) || !serves()) return
      const counted = toReward(kernel.repositoryId, event)
      if (counted !== null) sendReward(ctx, () => counted)
    }
    ctx.effect('reward events', outlet.bus.subscribe(reward))
    const noteSpans = (event: AgentEvent): void => {
      if (serves()) taskSpans.note(event, task => joined.hub.core.service.task(task))
    }
    ctx.effect('spans of tasks', outlet.bus.subscribe(noteSpans))
    const logPlacement = ({ kind }: AgentEvent): void => {
      if (kind.type !== 'task_placed' || !serves()) return
      const { type: _type, ...facts } = kind
      log.info('a task was placed', { target: LOG_TARGETS.placement, ...facts })
    }
    ctx.effect('placements in the log', outlet.bus.subscribe(logPlacement))
    ctx.onDrain('attempts to open the database', () => {
      isCurrent = false
    })
    let triedAt = performance.now()
    /** Replaces a hub that rejects everything, which has no tasks, once the database can be opened. */
    const retryDatabase = async (): Promise<void> => {
      const { unusable } = joined
      if (unusable === null || !isCurrent || performance.now() - triedAt < RETRY_MS) return
      const next = await joinDatabase(hubs).catch(failure => {
        if (errorMessage(failure) !== errorMessage(unusable.failure)) reportUnusable(log, failure)
        unusable.failure = failure
        return null
      })
      triedAt = performance.now()
      if (next === null || !isCurrent) return
      if (next.core !== null) takeOver(next.hub, next.services, next.core)
      joined = next
      outlet.bus.publishRecords(null)
      log.info('the database can be used again; tasks are accepted')
    }
    let ticking: Promise<void> | null = null
    const timer = setInterval(() => {
      if (!serves()) return
      ticking ??= (joined.unusable === null ? tickHub(joined.hub) : retryDatabase())
        .catch(error => log.error(`the periodic work failed: ${errorMessage(error)}`))
        .finally(() => {
          ticking = null
        })
    }, TICK_MS)
    timer.unref()
    ctx.effect('periodic work', async () => {
      clearInterval(timer)
      await ticking
    })
    ctx.onConfig(next => {
      checkSettings(next)
      replaceSettings(current, withMeshInference(next, report))
      if (serves()) joined.hub.core.reconfigured()
    })
    const service = new DelegatingOrchestrator(() => joined.hub.core.service)
    ctx.health('state', () => {
      const { outbox, stopped } = service.status()
      if (joined.unusable !== null) return { status: 'degraded', detail: `tasks are rejected: ${outbox.failing}` }
      if (outbox.failing !== null)
        return { status: 'degraded', detail: `changes wait for the database: ${outbox.failing}` }
      if (stopped) return { status: 'degraded', detail: 'the emergency stop is active' }
      return { status: 'ok' }
    })
    ctx.provide(orchestrator, service)
    attachViews(ctx, {
      orchestrator: service,
      kernel,
      coordination,
      others: () => joined.hub.persistence.others,
      trust: () => current
    })
  }
})

/** A hub, and the new core that imports its state when this unit starts to serve; null if this unit opened the hub. */
interface Joined {
  readonly hub: Hub
  readonly services: UnitServices
  readonly core: Core | null
  /** Set if the hub rejects all commands. */
  readonly unusable: UnusableDatabase | null
}

/** Context for joining or opening a hub. */
interface HubSource {
  readonly ctx: PluginContext
  readonly repositoryId: string
  readonly outlet: EventOutlet
  readonly services: UnitServices
  readonly options: CoreOptions
}

/**
 * Returns the hub of the previous unit if it uses the same storage; otherwise opens a new one. If the attached database
 * cannot be opened, logs that and opens a hub that rejects all commands.
 */
async function joinHub(source: HubSource): Promise<Joined> {
  const { ctx, repositoryId, outlet, options } = source
  const { store, log } = source.services
  try {
    return await joinDatabase(source)
  } catch (failure) {
    if (store === null) throw failure
    reportUnusable(log, failure)
    const services = { ...source.services, store: null }
    const unusable: UnusableDatabase = { location: store.location, failure }
    const hub = await openHub({ repositoryId, bus: outlet.bus, services, unusable }, held => makeCore(held, options))
    ctx.effect('state that rejects all commands', () => closeHub(hub))
    return { hub, services, core: null, unusable }
  }
}

/** Joins the hub of the attached database, or of the state in memory. Rejects if the database cannot be opened. */
async function joinDatabase({ ctx, repositoryId, outlet, services, options }: HubSource): Promise<Joined> {
  const { store } = services
  let isOwn = false
  const open = (): Promise<Hub> => {
    isOwn = true
    const onLost = (): void => void (outlet.seatsLost += 1)
    return openHub({ repositoryId, bus: outlet.bus, services, onLost }, held => makeCore(held, options))
  }
  const location = store === null ? 'memory' : `${outlet.seatsLost} ${store.location}`
  const hub = await ctx.keep(`state ${HUB_VERSION} ${location}`, open, closeHub)
  return { hub, services, core: isOwn ? null : await makeCore(hub, options), unusable: null }
}

function reportUnusable(log: Logger, failure: unknown): void {
  log.error('the database cannot be used; tasks are rejected until it can be', {
    reason: errorMessage(failure),
    ...(isSvcError(failure) ? defined({ code: failure.code, hint: failure.hint }) : null)
  })
}
