import { join } from 'node:path'
import { kernelAdmin, kernelPort, meshSettings, meshStatus, repositoryTasks } from '@svc/contracts'
import { definePlugin, type Handler, type Operation, ref } from '@svc/plugin-sdk'
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
import { MeshReader } from './mesh-reading.ts'
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
import { contributePages } from './pages.ts'
import {
  checkHandler,
  leasesFeedHandler,
  leasesHandler,
  nodesFeedHandler,
  nodesHandler,
  placementHandler
} from './read-handlers.ts'
import {
  checkOperation,
  leasesFeed,
  leasesOperation,
  MESH_TOPIC,
  nodesFeed,
  nodesOperation,
  placementOperation,
  REFRESH_MS,
  readOperations
} from './read-operations.ts'
import { serveCommand, serveHandler, upCommand, upHandler } from './serve-commands.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'mesh',
  summary: 'Settings, identity and commands of a mesh of machines',
  config: settings,
  requires: { kernel: kernelPort },
  // By reference: commands and control planes run without the orchestrator.
  optional: { admin: kernelAdmin, tasks: ref(repositoryTasks) },
  provides: [meshSettings, meshStatus],
  operations: [...operations, ...readOperations],
  commands: [serveCommand, upCommand],
  activate(ctx, { kernel, admin, tasks }) {
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
    const reader = new MeshReader({ settings: machine, staleMs: () => machine.staleAfterMs })
    /** Returns a handler after whose calls open pages read the mesh again. */
    const changing =
      <Op extends Operation>(handler: Handler<Op>): Handler<Op> =>
      async (input, call) => {
        try {
          return await handler(input, call)
        } finally {
          reader.forget()
          ctx.changed(MESH_TOPIC)
        }
      }
    ctx.implement(joinOperation, changing(joinHandler(parts)))
    ctx.implement(leaveOperation, changing(leaveHandler(parts)))
    ctx.implement(maintenanceOperation, changing(maintenanceHandler(parts)))
    ctx.implement(quarantineOperation, changing(quarantineHandler(parts)))
    ctx.implement(revokeOperation, changing(revokeHandler(parts)))
    ctx.implement(nodesOperation, nodesHandler(reader))
    ctx.implement(nodesFeed, nodesFeedHandler(reader))
    ctx.implement(leasesOperation, leasesHandler(reader))
    ctx.implement(leasesFeed, leasesFeedHandler(reader))
    ctx.implement(checkOperation, checkHandler(reader, machine))
    ctx.implement(
      placementOperation,
      placementHandler(() => tasks?.available)
    )
    contributePages(ctx)
    // The mesh changes elsewhere: open pages read it again in intervals.
    const timer = setInterval(() => {
      if (kernel.topics.watched(MESH_TOPIC)) ctx.changed(MESH_TOPIC)
    }, REFRESH_MS).unref()
    ctx.effect('refresh of open pages', () => clearInterval(timer))
    const place = { projectRoot, stateRoot }
    ctx.command(serveCommand.command, serveHandler(place))
    ctx.command(upCommand.command, upHandler(place, machine, membership))
  }
})
