import { resolve } from 'node:path'
import {
  type AgentEvent,
  type CompletionGate,
  completionGates,
  DelegatingOrchestrator,
  databaseStore,
  goalSubmitting,
  kernelAdmin,
  kernelPort,
  orchestrator,
  type RoutingTerm,
  routingTerms,
  sessionContext,
  taskChanged,
  taskEnded,
  taskSubmitting
} from '@svc/contracts'
import { definePlugin, errorMessage, type PluginContext, ref } from '@svc/plugin-sdk'
import { EventLog } from './events/log.ts'
import { builtInGates } from './gates/built-in.ts'
import { type Core, type CoreOptions, makeCore } from './service/core.ts'
import { EventOutlet } from './service/event-outlet.ts'
import { closeHub, HUB_VERSION, type Hub, openHub, takeOver, tickHub, type UnitServices } from './service/hub.ts'
import { levelledLog } from './service/levelled-log.ts'
import { checkSettings, replaceSettings, settings } from './settings.ts'

const TICK_MS = 1_000

export default definePlugin({
  name: 'orchestrator',
  summary: 'Tasks, agents, queues, gates and ledgers of the repository',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { store: databaseStore, admin: kernelAdmin, sessions: ref(sessionContext) },
  provides: [orchestrator],
  hooks: [taskSubmitting, goalSubmitting, taskEnded, taskChanged],
  points: [completionGates, routingTerms],
  permissions: { fsRead: ['*'], fsWrite: ['*'], childProcess: true },
  async activate(ctx, { kernel, store, admin, sessions }) {
    checkSettings(ctx.config)
    // Components hold this object; live changes of settings update it in place.
    const current = { ...ctx.config }
    const log = levelledLog(ctx.log, () => current.log_level)
    const gpu = (name: string) => {
      const key = `plugins.inference-onnx.${name}`
      return admin?.settings(key).find(setting => setting.key === key)?.value
    }
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
    const services: UnitServices = {
      settings: current,
      store: store ?? null,
      log,
      gates: () => gates,
      routingTerms: () => terms,
      ended: async end => void (await ctx.trigger(taskEnded, end)),
      submitting: async submission => void (await ctx.trigger(taskSubmitting, submission)),
      goal: request => ctx.trigger(goalSubmitting, request),
      envelope,
      setMode: async (session, mode) => {
        const envelope = await sessions?.current.envelope(session)
        if (envelope === undefined || envelope === null) return
        const { operating_mode, ...rest } = envelope
        await sessions?.current.put(session, mode === null ? rest : { ...rest, operating_mode: mode })
      }
    }
    const outlet = await ctx.keep(
      'events',
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
    const joined = await joinHub(ctx, kernel.repositoryId, outlet, services, options)
    const { hub, core } = joined
    if (core === null) outlet.log ??= eventLog
    ctx.onServe('import the state', () => {
      outlet.log = eventLog
      if (core !== null) takeOver(hub, joined.services, core)
    })

    const serves = (): boolean => hub.services === joined.services
    const announce = (event: AgentEvent): void => {
      const { kind, timestamp_ms } = event
      if (!('task_id' in kind) || !kind.type.startsWith('task_') || !serves() || !ctx.isTapped(taskChanged)) return
      const transition = { task_id: kind.task_id, type: kind.type, at_ms: timestamp_ms, event }
      ctx.trigger(taskChanged, transition).catch(() => {})
    }
    ctx.effect('task transitions', outlet.bus.subscribe(announce))
    let ticking: Promise<void> | null = null
    const timer = setInterval(() => {
      if (!serves()) return
      ticking ??= tickHub(hub).finally(() => {
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
      replaceSettings(current, next)
      if (serves()) hub.core.reconfigured()
    })
    const service = new DelegatingOrchestrator(() => hub.core.service)
    ctx.health('state', () => {
      const { outbox, durability, stopped } = service.status()
      if (outbox.failing !== null)
        return { status: 'degraded', detail: `changes wait for the database: ${outbox.failing}` }
      if (stopped) return { status: 'degraded', detail: 'the emergency stop is active' }
      if (durability.kind === 'memory' && store !== undefined)
        return { status: 'degraded', detail: `the state ends with the process: ${durability.because}` }
      return { status: 'ok' }
    })
    ctx.provide(orchestrator, service)
  }
})

/** A hub, and the new core that imports its state when this unit starts to serve; null if this unit opened the hub. */
interface Joined {
  readonly hub: Hub
  readonly services: UnitServices
  readonly core: Core | null
}

/**
 * Returns the hub of the previous unit if it uses the same storage; otherwise opens a new one. If the database cannot be
 * used, logs that and stores the state in memory.
 */
async function joinHub(
  ctx: PluginContext,
  repositoryId: string,
  outlet: EventOutlet,
  services: UnitServices,
  options: CoreOptions
): Promise<Joined> {
  const join = async (location: string, used: UnitServices, because?: string): Promise<Joined> => {
    let isOwn = false
    const open = (): Promise<Hub> => {
      isOwn = true
      const onLost = (): void => void (outlet.seatsLost += 1)
      return openHub({ repositoryId, bus: outlet.bus, services: used, because, onLost }, held =>
        makeCore(held, options)
      )
    }
    const hub = await ctx.keep(`state ${HUB_VERSION} ${location}`, open, closeHub)
    return { hub, services: used, core: isOwn ? null : await makeCore(hub, options) }
  }
  const { store, log } = services
  if (store === null) return join('memory', services)
  try {
    return await join(`${outlet.seatsLost} ${store.location}`, services)
  } catch (error) {
    const reason = errorMessage(error)
    log.error('the database cannot be used; tasks are in memory only, and are lost when the process ends', { reason })
    return join('memory', { ...services, store: null }, reason)
  }
}
