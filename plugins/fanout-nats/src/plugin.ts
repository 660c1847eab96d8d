import { coordinationFanout } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { connectOptions } from './connect-options.ts'
import { NatsFanout } from './nats-fanout.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'fanout-nats',
  summary: 'Carries hints of the coordination store over NATS',
  enabledByDefault: false,
  config: settings,
  provides: [coordinationFanout],
  permissions: { fsRead: ['*'] },
  async activate(ctx) {
    const config = ctx.config as Settings
    const options = connectOptions(config, ctx.projectRoot)
    // Loaded here, since the plugin is off by default.
    const { connect } = await import('@nats-io/transport-node')
    const fanout = new NatsFanout({ connect: () => connect(options), subject: config.subject, log: ctx.log })
    ctx.provide(coordinationFanout, fanout)
    ctx.health('connection', () =>
      fanout.isConnected
        ? { status: 'ok' }
        : { status: 'degraded', detail: `no connection to ${config.servers.join(', ')}; queues are polled` }
    )
    return () => fanout.close()
  }
})
