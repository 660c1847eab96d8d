import { DAEMON_PROTOCOL, type DaemonState, kernelAdmin, kernelPort, orchPing, surfaces } from '@svc/contracts'
import { definePlugin, type Infer, t } from '@svc/plugin-sdk'
import { assertGuarded, formatAddress, parseAddress, SOCKET_VARIABLE } from './address.ts'
import { closeHub, type DaemonHub, openHub } from './hub.ts'
import { buildMethods } from './methods.ts'
import { Reader } from './reader.ts'
import { removeStateFile, writeStateFile } from './state-file.ts'
import { openStdio } from './stdio.ts'

const config = t.object({
  socket: t.string({
    default: '127.0.0.1:9745',
    'x-env': SOCKET_VARIABLE,
    description: 'HOST:PORT (also tcp://HOST:PORT), the absolute path of a unix socket, or stdio, - or stdin'
  }),
  token: t.string({
    default: '',
    'x-secret': true,
    description: 'What a peer must show in a first $/auth line; needed beyond this machine'
  }),
  max_line_bytes: t.integer({ default: 4_194_304, minimum: 1024, description: 'Longest line that is taken' }),
  max_in_flight: t.integer({ default: 64, minimum: 1, description: 'Requests of one connection at once; others wait' }),
  max_connections: t.integer({
    default: 256,
    minimum: 1,
    description: 'Connections at once; further ones are refused'
  }),
  max_buffered_bytes: t.integer({
    default: 8_388_608,
    minimum: 1024,
    description: 'Bytes of events that may wait for a slow reader before its call is broken off'
  }),
  drain_ms: t.integer({
    default: 4_000,
    minimum: 0,
    description: 'Milliseconds that calls under way have when the process stops, before their plugins are stopped'
  })
})

export default definePlugin({
  name: 'daemon',
  summary: 'Newline-delimited JSON-RPC over TCP, a unix socket or stdio',
  config,
  requires: { port: kernelPort },
  optional: { admin: kernelAdmin },
  operations: [orchPing],
  serves: true,
  async activate(ctx, { port, admin }) {
    const settings = ctx.config as Infer<typeof config>
    const address = parseAddress(settings.socket)
    assertGuarded(address, settings.token)
    const state = (hub: DaemonHub): DaemonState => ({
      pid: process.pid,
      started_at: new Date(performance.timeOrigin).toISOString(),
      socket: hub.address,
      version: port.version,
      repository_id: port.repositoryId
    })
    const close = async (hub: DaemonHub): Promise<void> => {
      await closeHub(hub)
      await hub.announced
      if (hub.server !== null) await removeStateFile(ctx.projectRoot, state(hub))
    }
    const announce = (): Promise<void> =>
      writeStateFile(ctx.projectRoot, state(hub), ctx.log).catch((error: unknown) =>
        ctx.log.error('cannot write .vox/daemon.json; commands will not find this daemon', { error })
      )
    const open = (): DaemonHub | Promise<DaemonHub> =>
      address.kind === 'stdio' ? openStdio() : openHub(address, settings.max_connections)
    const hub = await ctx.keep(`socket ${formatAddress(address)}`, open, close)
    const reader = new Reader(hub, {
      port,
      settings,
      guarded: settings.token !== '' && address.kind !== 'stdio',
      // Whoever started the daemon on its streams and closed them wants it no more.
      onStdioEnd: () => admin?.stop('the peer of the daemon closed standard input')
    })

    ctx.implement(orchPing, () => ({ ok: true, repository_id: port.repositoryId, protocol: DAEMON_PROTOCOL }))
    ctx.contribute(surfaces, {
      prepare(next) {
        const methods = buildMethods(next)
        const unit = next.units.get(ctx.name)
        return {
          commit() {
            if (unit === undefined) return
            reader.serve(methods, unit)
            if (hub.server === null) return
            hub.server.maxConnections = settings.max_connections
            hub.announced ??= announce()
          },
          abort: () => undefined
        }
      },
      quiesce: () => reader.quiesce(settings.drain_ms)
    })
    ctx.log.debug(`listening at ${hub.address}`)
  }
})
