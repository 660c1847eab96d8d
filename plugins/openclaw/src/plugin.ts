import { skillsGateway } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { OpenClawGateway } from './gateway.ts'
import { endpointsHandler, skillsEndpoints } from './operations.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'openclaw',
  summary: 'Connects the project to an external skills gateway, for plugins and programs',
  config: settings,
  provides: [skillsGateway],
  operations: [skillsEndpoints],
  activate(ctx) {
    const gateway = new OpenClawGateway(ctx.config, ctx.version)
    ctx.effect('connection with the skills gateway', () => gateway.close())
    ctx.provide(skillsGateway, gateway)
    ctx.implement(skillsEndpoints, endpointsHandler(gateway, ctx.config.token !== undefined))
  }
})
