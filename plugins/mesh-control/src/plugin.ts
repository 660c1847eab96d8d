import {
  coordinationStore,
  httpHandlers,
  httpListeners,
  httpServer,
  isLoopback,
  meshAccess,
  meshSettings,
  metricsText,
  readiness,
  surfaces,
  TokenBuckets
} from '@svc/contracts'
import { definePlugin, ref, withTimeout } from '@svc/plugin-sdk'
import { buildControl } from './build-control.ts'
import { LISTENER } from './control-server.ts'
import { importOlderFiles } from './older-files.ts'
import { settings } from './settings.ts'

/** Wrong tokens of a client per minute. */
const MAX_WRONG_TOKENS_PER_MINUTE = 60
/** Time in milliseconds in which the store must respond for `/ready`. */
const READY_MS = 1_000

export default definePlugin({
  name: 'mesh-control',
  summary: 'Control plane of a mesh: nodes, mailboxes and leases over HTTP',
  enabledByDefault: false,
  // If the control plane is enabled but cannot start, the process stops with the error.
  onBootFailure: 'abort',
  config: settings,
  requires: { mesh: meshSettings, store: coordinationStore, server: ref(httpServer) },
  provides: [meshAccess],
  serves: true,
  async activate(ctx, { mesh, store }) {
    const { config, log } = ctx
    const wrong = await ctx.keep(
      'wrong tokens',
      () => new TokenBuckets(MAX_WRONG_TOKENS_PER_MINUTE),
      () => undefined
    )
    let isDraining = false
    let checking: Promise<string | null> | null = null
    const checkStore = async (): Promise<string | null> => {
      try {
        await withTimeout(READY_MS, () => store.now())
        return null
      } catch {
        return 'the store does not respond'
      }
    }
    const ready = async (): Promise<string | null> => {
      if (isDraining) return 'the control plane is stopping'
      // Every caller may ask, so concurrent ones share a call to the store.
      checking ??= checkStore().finally(() => {
        checking = null
      })
      return checking
    }
    const control = buildControl({ config, mesh, store, wrong, ready, log })
    const { host, port, drain_ms } = config
    if (!control.requiresToken && !isLoopback(host))
      log.warn(`the control plane on ${host}:${port} accepts every caller that can reach it`, {
        hint: 'set SVC_MESH_TOKEN, or bind 127.0.0.1'
      })
    ctx.contribute(httpListeners, {
      name: LISTENER,
      host,
      port,
      setting: 'plugins.mesh-control.port',
      guard: 'own',
      errors: 'plain',
      closeDelayMs: drain_ms
    })
    ctx.provide(meshAccess, control.access)
    ctx.contribute(httpHandlers, control.handlers)
    ctx.contribute(readiness, {
      name: 'mesh-control',
      check: async () => {
        const reason = await ready()
        return reason === null ? { ok: true } : { ok: false, detail: reason }
      }
    })
    ctx.contribute(metricsText, {
      render: () =>
        [
          '# HELP svc_mesh_inbox_waiters Requests that wait for a message.',
          '# TYPE svc_mesh_inbox_waiters gauge',
          `svc_mesh_inbox_waiters ${control.waiters.size}`,
          ''
        ].join('\n')
    })
    const drain = (): void => {
      isDraining = true
      control.waiters.close()
    }
    ctx.contribute(surfaces, {
      prepare: () => ({ commit: () => undefined, abort: () => undefined }),
      quiesce: async () => drain()
    })
    // Waiting requests of a replaced instance end, and their clients ask its successor.
    ctx.onDrain('waiting requests', () => control.waiters.close())
    ctx.onServe('import of older files', () => {
      ctx.background('import of older files', signal => importOlderFiles(config, { ...control, log, signal }))
    })
  }
})
