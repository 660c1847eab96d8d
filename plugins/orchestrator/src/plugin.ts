import {
  databaseStore,
  goalSubmitting,
  kernelAdmin,
  kernelPort,
  orchestrator,
  sessionContext,
  taskEnded,
  taskSubmitting
} from '@svc/contracts'
import { definePlugin, type Logger, ref } from '@svc/plugin-sdk'
import { levelledLog } from './service/levelled-log.ts'
import { MemoryHandover } from './service/memory-handover.ts'
import { type OpenOptions, openOrchestrator } from './service/open.ts'
import { checkSettings, settings } from './settings.ts'

const TICK_MS = 1_000

export default definePlugin({
  name: 'orchestrator',
  summary: 'Tasks, agents, queues, gates and ledgers of the repository',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { store: databaseStore, admin: kernelAdmin, sessions: ref(sessionContext) },
  provides: [orchestrator],
  hooks: [taskSubmitting, goalSubmitting, taskEnded],
  permissions: { fsRead: ['*'], fsWrite: ['*'], childProcess: true },
  async activate(ctx, { kernel, store, admin, sessions }) {
    checkSettings(ctx.config)
    // Components keep this object; what may change while running is changed in it.
    const current = { ...ctx.config }
    const log = levelledLog(ctx.log, () => current.log_level)
    const gpu = (name: string) => {
      const key = `plugins.inference-onnx.${name}`
      return admin?.settings(key).find(setting => setting.key === key)?.value
    }
    const [gpu_model, gpu_vram_mb] = [gpu('gpu_model'), gpu('gpu_vram_mb')]
    const handover = await ctx.keep(
      'state',
      () => new MemoryHandover(),
      () => {}
    )
    const opened = await openInPlace(
      {
        settings: current,
        repositoryId: kernel.repositoryId,
        root: ctx.projectRoot,
        store: store ?? null,
        handover,
        log,
        ended: async end => void (await ctx.trigger(taskEnded, end)),
        envelope: async session => sessions?.current.envelope(session) ?? null,
        setMode: async (session, mode) => {
          const envelope = await sessions?.current.envelope(session)
          if (envelope === undefined || envelope === null) return
          const { operating_mode, ...rest } = envelope
          await sessions?.current.put(session, mode === null ? rest : { ...rest, operating_mode: mode })
        },
        gpu: typeof gpu_model === 'string' && typeof gpu_vram_mb === 'number' ? { gpu_model, gpu_vram_mb } : undefined
      },
      log
    )
    ctx.effect('orchestrator', () => opened.close())
    let ticking: Promise<void> | null = null
    const timer = setInterval(() => {
      ticking ??= opened.tick().finally(() => {
        ticking = null
      })
    }, TICK_MS)
    timer.unref()
    ctx.effect('duties of each second', async () => {
      clearInterval(timer)
      await ticking
    })
    ctx.onConfig(next => {
      checkSettings(next)
      Object.assign(current, next)
      opened.reconfigured()
    })
    ctx.health('state', () => {
      const { outbox, durability, stopped } = opened.service.status()
      if (outbox.failing !== null)
        return { status: 'degraded', detail: `changes wait for the database: ${outbox.failing}` }
      if (stopped) return { status: 'degraded', detail: 'an emergency stop holds' }
      if (durability.kind === 'memory' && store !== undefined)
        return { status: 'degraded', detail: `nothing outlives the process: ${durability.because}` }
      return { status: 'ok' }
    })
    ctx.provide(orchestrator, opened.service)
  }
})

/** With the database where it can be used; without it otherwise, which is better than not at all, and is said. */
async function openInPlace(options: OpenOptions, log: Logger): ReturnType<typeof openOrchestrator> {
  if (options.store === null) return openOrchestrator(options)
  try {
    return await openOrchestrator(options)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.error('the database cannot be used: tasks are kept in memory, and end with the process', { reason })
    return openOrchestrator({ ...options, store: null, because: reason })
  }
}
