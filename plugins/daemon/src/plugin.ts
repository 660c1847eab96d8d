import { DAEMON_PROTOCOL, kernelAdmin, kernelPort, orchPing, surfaces } from '@svc/contracts'
import { definePlugin, type Infer, t } from '@svc/plugin-sdk'
import { anonymousAccess } from './access.ts'
import { assertGuarded, formatAddress, parseAddress, SOCKET_VARIABLE } from './address.ts'
import { logsDescriptor, startDescriptor, statusDescriptor, stopDescriptor } from './commands/declare.ts'
import { implementCommands } from './commands/implement.ts'
import { closeHeld, type HeldHubOptions, openHeld } from './held-hub.ts'
import { isOwnLog, logPath, rotate } from './log-file.ts'
import { buildMethods } from './methods.ts'
import { ConnectionReader } from './reader.ts'

const config = t.object({
  socket: t.string({
    default: '127.0.0.1:9745',
    'x-env': SOCKET_VARIABLE,
    description: 'HOST:PORT or tcp://HOST:PORT, the absolute path of a unix socket, or stdio (also - or stdin).'
  }),
  token: t.string({
    default: '',
    'x-secret': true,
    description:
      'Additional token that clients may send in a first $/auth line. Required if other machines can connect.'
  }),
  require_token: t.boolean({
    default: false,
    'x-guards': true,
    description: 'Require a token from all clients. svc reads it from .vox/daemon.json.'
  }),
  max_line_bytes: t.integer({ default: 4_194_304, minimum: 1024, description: 'Maximum length of a line in bytes.' }),
  max_in_flight: t.integer({
    default: 64,
    minimum: 1,
    description: 'Maximum number of concurrent requests of a connection. Further requests wait.'
  }),
  max_connections: t.integer({
    default: 256,
    minimum: 1,
    description: 'Maximum number of connections. A further one closes the connection with the longest idle time.'
  }),
  max_buffered_bytes: t.integer({
    default: 8_388_608,
    minimum: 1024,
    description: 'Maximum bytes of buffered events for a slow client. Above it, the call is aborted.'
  }),
  drain_ms: t.integer({
    default: 4_000,
    minimum: 0,
    description: 'Time in milliseconds that running calls have to finish when the process stops.'
  }),
  only: t.array(t.string({ minLength: 1 }), {
    default: [],
    description: 'Plugins that svc daemon start runs, with their requirements. Empty: all enabled plugins.'
  }),
  log_max_bytes: t.integer({
    default: 10_485_760,
    minimum: 4_096,
    description: 'Size in bytes at which .vox/daemon.log is rotated.'
  }),
  log_files: t.integer({
    default: 3,
    minimum: 0,
    maximum: 100,
    description: 'Number of rotated logs to keep.'
  })
})

const LOG_CHECK_MS = 1_000

export default definePlugin({
  name: 'daemon',
  summary: 'Newline-delimited JSON-RPC over TCP, a unix socket or stdio',
  config,
  requires: { port: kernelPort },
  optional: { admin: kernelAdmin },
  operations: [orchPing],
  commands: [startDescriptor, statusDescriptor, stopDescriptor, logsDescriptor],
  serves: true,
  async activate(ctx, { port, admin }) {
    const settings = ctx.config as Infer<typeof config>
    ctx.implement(orchPing, () => ({ ok: true, repository_id: port.repositoryId, protocol: DAEMON_PROTOCOL }))
    implementCommands(ctx, {
      root: ctx.projectRoot,
      repositoryId: port.repositoryId,
      version: port.version,
      socket: settings.socket,
      only: settings.only,
      logMaxBytes: settings.log_max_bytes,
      logFiles: settings.log_files
    })
    // In a single command such as `svc daemon status`, this process is not a server.
    if (admin?.serves === false) return
    const address = parseAddress(settings.socket)
    assertGuarded(address, settings.token)
    const held: HeldHubOptions = {
      root: ctx.projectRoot,
      about: { version: port.version, repository_id: port.repositoryId },
      maxConnections: settings.max_connections,
      log: ctx.log
    }
    const hub = await ctx.keep(
      `socket ${formatAddress(address)}`,
      async () => {
        const opened = await openHeld(address, held)
        ctx.log.info(`JSON-RPC listens on ${opened.address}`)
        return opened
      },
      each => closeHeld(each, held)
    )
    const reader = new ConnectionReader(hub, {
      port,
      settings,
      anonymous: anonymousAccess(address, settings),
      tokens: settings.token === '' ? [hub.token] : [hub.token, settings.token],
      log: ctx.log,
      // If the parent closes the streams, the daemon is no longer needed.
      onStdioEnd: () => admin?.stop('the client of the daemon closed standard input')
    })

    ctx.contribute(surfaces, {
      prepare(next) {
        const methods = buildMethods(next)
        const unit = next.units.get(ctx.name)
        return {
          commit() {
            if (unit !== undefined) reader.serve(methods, unit)
          },
          abort: () => undefined
        }
      },
      quiesce: () => reader.quiesce(settings.drain_ms)
    })
    const log = logPath(ctx.projectRoot)
    if (isOwnLog(log)) {
      const check = (): void => {
        try {
          rotate(log, settings.log_max_bytes, settings.log_files)
        } catch (error) {
          clearInterval(timer)
          ctx.log.error('cannot rotate .vox/daemon.log, which continues to grow', { error })
        }
      }
      const timer = setInterval(check, LOG_CHECK_MS)
      timer.unref()
      ctx.effect('size of the log', () => clearInterval(timer))
    }
  }
})
