import { coordinationStore, httpServer, kernelPort, meshAccess, meshSettings, orchestrator } from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { deadNotifications, retryNotification } from './push/operations.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'a2a-server',
  summary: 'Serves tasks over the A2A protocol',
  enabledByDefault: false,
  config: settings,
  operations: [deadNotifications, retryNotification],
  requires: { store: coordinationStore, kernel: kernelPort },
  optional: { orchestrator, mesh: meshSettings, access: meshAccess, http: ref(httpServer) },
  // This plugin drains before http, which carries its requests.
  after: ['http'],
  serves: true,
  async activate(ctx, deps) {
    // Loaded here, since the plugin is off by default and the SDK of the protocol is large.
    const { startServer } = await import('./server.ts')
    await startServer(ctx, deps)
  }
})
