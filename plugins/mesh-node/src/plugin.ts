import { join } from 'node:path'
import {
  a2aPlanes,
  agentFleet,
  coordinationStore,
  databaseStore,
  inferenceClient,
  inferenceServers,
  kernelAdmin,
  kernelPort,
  meshActivities,
  meshNode,
  meshSettings,
  orchestrator,
  remotePlacers,
  remoteProcessor,
  statusSections,
  taskViewSources
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { MeshNodeService } from './node.ts'
import { takeNodeSeat } from './node-seat.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'mesh-node',
  summary: 'Joins a mesh, delegates tasks to its machines, and runs tasks of others',
  config: settings,
  requires: { kernel: kernelPort, orchestrator, mesh: meshSettings },
  optional: {
    admin: kernelAdmin,
    database: databaseStore,
    coordination: ref(coordinationStore),
    fleet: ref(agentFleet),
    processor: ref(remoteProcessor),
    inference: ref(inferenceClient)
  },
  provides: [meshNode, meshActivities],
  async activate(ctx, deps) {
    const { kernel, admin } = deps
    const folder = join(kernel.stateRoot, 'plugins', ctx.name, 'processes')
    const lasting = await ctx.keep(
      'node',
      () => ({ started: false, seat: null as Promise<Awaited<ReturnType<typeof takeNodeSeat>>> | null }),
      async ({ seat }) => (await seat?.catch(() => null))?.release()
    )
    const node = new MeshNodeService({
      config: ctx.config,
      log: ctx.log,
      version: kernel.version,
      repositoryId: kernel.repositoryId,
      settings: deps.mesh,
      kernel,
      orchestrator: deps.orchestrator,
      database: deps.database ?? null,
      coordination: () => deps.coordination?.available,
      fleet: () => deps.fleet?.available,
      processor: () => deps.processor?.available,
      inference: () => deps.inference?.available,
      seat: () => {
        lasting.seat ??= takeNodeSeat(folder)
        return lasting.seat
      }
    })
    ctx.contribute(remotePlacers, node.delegation)
    ctx.contribute(a2aPlanes, node.plane)
    ctx.contribute(taskViewSources, node.views)
    ctx.contribute(inferenceServers, node.modelServers)
    for (const section of node.sections) ctx.contribute(statusSections, section)
    ctx.effect('withdrawals', node.followWithdrawals())
    ctx.onServe('mesh node', () => {
      lasting.started ||= admin?.serves === true
      if (lasting.started) node.start()
    })
    ctx.onDrain('mesh node', async reason => {
      await node.stop(reason !== 'replaced')
      if (reason === 'removed') node.forgetNodes()
    })
    ctx.effect('mesh node', () => node.stop(true))
    ctx.health('mesh', () => node.health())
    ctx.provide(meshActivities, node.activities)
    ctx.provide(meshNode, {
      get id() {
        return node.id
      },
      get running() {
        return node.running
      },
      start() {
        lasting.started = true
        node.start()
      }
    })
  }
})
