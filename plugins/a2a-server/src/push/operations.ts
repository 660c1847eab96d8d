import { type Coordination, coordinationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Notification, pushQueueOf } from './notification.ts'

const { CRD_FAILED, CRD_UNAVAILABLE } = coordinationErrors.specs
const errors = { CRD_FAILED, CRD_UNAVAILABLE }

export const deadNotifications = defineOperation({
  id: 'a2a_server.dead_notifications',
  summary: 'List push notifications that were not delivered, newest first',
  input: t.object({
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of notifications.' }),
    before: t.optional(t.integer({ minimum: 1, description: 'Lists only notifications with smaller ids.' }))
  }),
  output: t.object({
    notifications: t.array(
      t.object({
        id: t.integer(),
        task_id: t.string(),
        config_id: t.string({ description: 'Webhook of the task.' }),
        event: t.string({ description: 'Key of the event in the task.' }),
        attempts: t.integer(),
        error: t.nullable(t.string({ description: 'Error of the last attempt; null if its process ended.' })),
        died_at_ms: t.integer()
      })
    )
  }),
  errors,
  effect: 'read',
  expose: {
    cli: {
      command: 'a2a-server dead',
      view: { rows: 'notifications', columns: ['id', 'task_id', 'config_id', 'event', 'attempts', 'error'] }
    }
  }
})

export const retryNotification = defineOperation({
  id: 'a2a_server.retry_notification',
  summary: 'Send a push notification again that was not delivered',
  input: t.object({ id: t.integer({ minimum: 1, description: 'Id of the notification.' }) }),
  output: t.object({ retried: t.boolean({ description: 'False if there is no such notification.' }) }),
  errors,
  expose: { cli: { command: 'a2a-server retry', args: ['id'] } }
})

export function listDead(store: Coordination, scope: string): Handler<typeof deadNotifications> {
  return async ({ limit, before }) => {
    const dead = await store.dead(pushQueueOf(scope), { limit, ...(before === undefined ? null : { before }) })
    return {
      notifications: dead.map(({ id, body, attempts, error, diedAt }) => {
        const { task, config, event } = JSON.parse(body) as Notification
        return { id, task_id: task, config_id: config, event, attempts, error, died_at_ms: Math.floor(diedAt) }
      })
    }
  }
}

export function retryDead(store: Coordination, scope: string): Handler<typeof retryNotification> {
  return async ({ id }) => ({ retried: (await store.revive(pushQueueOf(scope), [id])) === 1 })
}
