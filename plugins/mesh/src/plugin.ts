import { join } from 'node:path'
import { kernelAdmin, kernelPort, meshSettings, meshStatus } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { ControlClient } from './control-client.ts'
import {
  joinHandler,
  leaveHandler,
  maintenanceHandler,
  pairHandler,
  quarantineHandler,
  revokeHandler,
  statusHandler
} from './handlers.ts'
import { MachineSettings } from './machine-settings.ts'
import { MembershipFile } from './membership.ts'
import {
  joinOperation,
  leaveOperation,
  maintenanceOperation,
  operations,
  pairOperation,
  quarantineOperation,
  revokeOperation,
  statusOperation
} from './operations.ts'
import { serveCommand, serveHandler, upCommand, upHandler } from './serve-commands.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'mesh',
  summary: 'Settings, identity and commands of a mesh of machines',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin },
  provides: [meshSettings, meshStatus],
  operations,
  commands: [serveCommand, upCommand],
  activate(ctx, { kernel, admin }) {
    const { projectRoot, stateRoot } = kernel
    const folder = join(stateRoot, 'plugins', ctx.name)
    const membership = new MembershipFile(join(folder, 'membership.json'))
    const machine = new MachineSettings({
      settings: () => ctx.config as Settings,
      membership,
      nodeIdFile: join(folder, 'node-id'),
      admin
    })
    ctx.provide(meshSettings, machine)
    ctx.provide(meshStatus, { enabled: () => machine.enabled })
    const parts = { settings: machine, membership, client: new ControlClient(machine) }
    ctx.implement(statusOperation, statusHandler(parts))
    ctx.implement(pairOperation, pairHandler(parts))
    ctx.implement(joinOperation, joinHandler(parts))
    ctx.implement(leaveOperation, leaveHandler(parts))
    ctx.implement(maintenanceOperation, maintenanceHandler(parts))
    ctx.implement(quarantineOperation, quarantineHandler(parts))
    ctx.implement(revokeOperation, revokeHandler(parts))
    const place = { projectRoot, stateRoot }
    ctx.command(serveCommand.command, serveHandler(place))
    ctx.command(upCommand.command, upHandler(place, machine, membership))
  }
})
