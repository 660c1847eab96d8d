import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { tool } from '../tool.ts'

const outbox = t.object({
  pending: t.integer({ description: 'Changes that are not durable yet.' }),
  oldest_ms: t.nullable(t.number({ description: 'Milliseconds that the oldest pending change has waited.' })),
  failing: t.nullable(t.string({ description: 'Last error of the database while writes fail.' }))
})

const outboxQueue = defineOperation({
  id: 'orchestrator.outboxQueue',
  summary: 'Count the changes that are not durable yet',
  input: t.object({}),
  output: outbox,
  effect: 'read',
  expose: {
    mcp: tool('orchestrator_persistence_outbox_queue', {
      readRole: true,
      lane: 'platform',
      toolsets: ['status'],
      use: 'Zero means that a crash loses nothing. Causes: svc_orchestrator_persistence_outbox_lifecycle.'
    })
  }
})

const outboxLifecycle = defineOperation({
  id: 'orchestrator.outboxLifecycle',
  summary: 'Show where changes are stored, and whether writing works',
  input: t.object({}),
  output: t.object({
    state: t.enum(['memory', 'idle', 'writing', 'failing']),
    durability: t.record(t.unknown()),
    ...{ pending: t.integer(), oldest_ms: t.nullable(t.number()), failing: t.nullable(t.string()) }
  }),
  effect: 'read',
  expose: {
    mcp: tool('orchestrator_persistence_outbox_lifecycle', {
      readRole: true,
      lane: 'platform',
      toolsets: ['status'],
      use: 'Use it when changes may have been lost. How many wait: svc_orchestrator_persistence_outbox_queue.'
    })
  }
})

function outboxQueueHandler({ orchestrator }: Dependencies): Handler<typeof outboxQueue> {
  return () => ({ ...orchestrator.status().outbox })
}

function outboxLifecycleHandler({ orchestrator }: Dependencies): Handler<typeof outboxLifecycle> {
  return () => {
    const { outbox, durability } = orchestrator.status()
    const state =
      durability.kind === 'memory'
        ? 'memory'
        : outbox.failing !== null
          ? 'failing'
          : outbox.pending > 0
            ? 'writing'
            : 'idle'
    return { state, durability: { ...durability }, ...outbox }
  }
}

export const outboxOperations = [bound(outboxQueue, outboxQueueHandler), bound(outboxLifecycle, outboxLifecycleHandler)]
