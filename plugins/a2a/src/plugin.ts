import {
  type A2aPlane,
  a2aBus,
  a2aPlanes,
  databaseStore,
  type KernelAdmin,
  kernelAdmin,
  kernelPort,
  orchestrator,
  repositoryTasks
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { durablePlane, localPlane } from './built-in-planes.ts'
import { PlaneBus } from './bus.ts'
import { contributeConsole, MESSAGES_TOPIC } from './console.ts'
import { DurableInbox } from './durable-inbox.ts'
import {
  ackHandler,
  broadcastHandler,
  deadHandler,
  extendHandler,
  historyHandler,
  inboxHandler,
  messagesHandler,
  nackHandler,
  reviveHandler,
  sendHandler,
  watchHandler
} from './handlers.ts'
import { LocalBus } from './local-bus.ts'
import {
  a2aAck,
  a2aBroadcast,
  a2aDead,
  a2aExtend,
  a2aHistory,
  a2aInbox,
  a2aMessages,
  a2aNack,
  a2aRevive,
  a2aSend,
  a2aTasks,
  a2aWatch,
  operations
} from './operations.ts'
import { Planes } from './planes.ts'
import { settings } from './settings.ts'
import { tasksHandler } from './tasks.ts'

export default definePlugin({
  name: 'a2a',
  summary: 'Messages between agents over five planes',
  config: settings,
  requires: { kernel: kernelPort, orchestrator },
  optional: { database: databaseStore, repository: ref(repositoryTasks), admin: kernelAdmin },
  provides: [a2aBus],
  operations,
  points: [a2aPlanes],
  async activate(ctx, { kernel, orchestrator, database, repository, admin }) {
    const { consumer_id = `pid:${process.pid}`, lease_ms, max_attempts, retention_days } = ctx.config
    const local = await ctx.keep(
      'local messages',
      () => new LocalBus(),
      () => undefined
    )
    const durable =
      database === undefined
        ? null
        : new DurableInbox(database, kernel.repositoryId, {
            consumer: consumer_id,
            leaseMs: lease_ms,
            retentionDays: retention_days,
            maxAttempts: max_attempts,
            label: queueLabel(admin)
          })
    const own = [localPlane(local), ...(durable === null ? [] : [durablePlane(durable)])]
    for (const plane of own) ctx.contribute(a2aPlanes, plane, `plane ${plane.route}`)
    let current: readonly A2aPlane[] = own
    ctx.follow(a2aPlanes, items => {
      current = [...own, ...items.filter(({ route }) => route !== 'local' && route !== 'db')]
    })
    const planes = new Planes(() => current)
    const bus = new PlaneBus(local, durable, orchestrator, ctx.log, planes, () => ctx.changed(MESSAGES_TOPIC))
    ctx.effect(
      'inboxes of retired agents',
      orchestrator.subscribe(({ kind }) => {
        if (kind.type === 'agent_retired') local.forget(kind.agent_id)
      })
    )
    contributeConsole(ctx)
    ctx.provide(a2aBus, bus)
    ctx.implement(a2aSend, sendHandler(bus, orchestrator, planes))
    ctx.implement(a2aInbox, inboxHandler(bus, orchestrator, planes))
    ctx.implement(a2aAck, ackHandler(bus, orchestrator))
    ctx.implement(a2aExtend, extendHandler(bus, orchestrator))
    ctx.implement(a2aNack, nackHandler(bus, orchestrator))
    ctx.implement(a2aDead, deadHandler(bus, planes))
    ctx.implement(a2aRevive, reviveHandler(bus))
    ctx.implement(a2aBroadcast, broadcastHandler(bus, orchestrator, planes))
    ctx.implement(a2aHistory, historyHandler(bus, planes))
    ctx.implement(a2aMessages, messagesHandler(bus, orchestrator, planes))
    ctx.implement(a2aTasks, tasksHandler(orchestrator, repository))
    const streams = new AbortController()
    ctx.onDrain('message streams', () => streams.abort())
    ctx.implement(a2aWatch, watchHandler(bus, durable, planes, streams.signal))
  }
})

const REPOSITORY_ID = 'kernel.repository_id'

/** Returns the label of the queues: SVC_REPOSITORY_ID, else `default`. */
function queueLabel(admin: KernelAdmin | undefined): string {
  const value = admin?.settings(REPOSITORY_ID).find(({ key }) => key === REPOSITORY_ID)?.value
  return typeof value === 'string' && value !== '' ? value : 'default'
}
