import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { userIdOf } from '../gate.ts'
import { rowsOf } from '../store/load-state.ts'
import { assertSettingsOn } from '../switches.ts'
import { gamifyTool } from './expose.ts'

const { RWD_OFF, RWD_NOTIFICATION_UNKNOWN } = rewardErrors.specs

const notification = t.object({
  id: t.integer(),
  kind: t.string({ description: 'level, achievement, quest, combo, hint or reward.' }),
  message: t.string(),
  created_at: t.string({ format: 'date-time' }),
  acknowledged: t.boolean()
})

export const notificationsList = defineOperation({
  id: 'reward.notifications_list',
  summary: 'List notifications, newest first',
  input: t.object({
    limit: t.integer({ default: 50, minimum: 1, maximum: 500, description: 'Maximum notifications.' }),
    all: t.boolean({ default: false, description: 'Whether acknowledged ones are listed, too.' })
  }),
  output: t.object({ notifications: t.array(notification) }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/notifications' },
    mcp: gamifyTool(
      'notifications_list',
      'What the user reached, and hints. Mark one as read: svc_gamify_notification_ack.'
    ),
    rpc: true,
    cli: {
      command: 'reward notifications',
      view: { rows: 'notifications', columns: ['id', 'created_at', 'kind', 'message'] }
    }
  }
})

export const notificationAck = defineOperation({
  id: 'reward.notification_ack',
  summary: 'Mark a notification as read',
  input: t.object({ id: t.integer({ minimum: 1, description: 'Id of the notification.' }) }),
  output: t.object({ id: t.integer(), acknowledged: t.boolean() }),
  errors: { RWD_OFF, RWD_NOTIFICATION_UNKNOWN },
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/reward/notifications/:id/ack' },
    mcp: gamifyTool('notification_ack', 'After the user has seen it. All at once: svc_gamify_notifications_ack_all.'),
    rpc: true
  }
})

export const notificationsAckAll = defineOperation({
  id: 'reward.notifications_ack_all',
  summary: 'Mark all notifications as read',
  input: t.object({}),
  output: t.object({ acknowledged: t.integer({ description: 'Notifications that were unread.' }) }),
  errors: { RWD_OFF },
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/reward/notifications/ack' },
    mcp: gamifyTool('notifications_ack_all', 'When the user wants none of them listed again.'),
    rpc: true,
    cli: { command: 'reward read', view: { fields: ['acknowledged'] } }
  }
})

export function notificationsHandler(dependencies: Dependencies): Handler<typeof notificationsList> {
  return async ({ limit, all }) => {
    const { tx, user } = await settledReader(dependencies)
    const rows = await rowsOf(
      tx,
      `SELECT id, kind, message, created_at, acknowledged_at FROM gamify_notifications
       WHERE user_id = ? AND (? = 1 OR acknowledged_at IS NULL) ORDER BY id DESC LIMIT ?`,
      [user, all ? 1 : 0, limit]
    )
    return {
      notifications: rows.map(row => ({
        id: Number(row.id),
        kind: String(row.kind),
        message: String(row.message),
        created_at: new Date(Number(row.created_at)).toISOString(),
        acknowledged: row.acknowledged_at !== null
      }))
    }
  }
}

export function ackHandler(dependencies: Dependencies): Handler<typeof notificationAck> {
  return async ({ id }) => {
    assertSettingsOn(dependencies)
    const { changes } = await dependencies.store.transaction(tx =>
      tx.execute(
        'UPDATE gamify_notifications SET acknowledged_at = coalesce(acknowledged_at, ?) WHERE user_id = ? AND id = ?',
        [dependencies.now(), userIdOf(dependencies.settings()), id]
      )
    )
    if (changes === 0)
      throw rewardErrors.create('RWD_NOTIFICATION_UNKNOWN', `notification ${id}: it does not exist`, {
        data: { id },
        hint: 'list the notifications to see their ids'
      })
    dependencies.changed()
    return { id, acknowledged: true }
  }
}

export function ackAllHandler(dependencies: Dependencies): Handler<typeof notificationsAckAll> {
  return async () => {
    assertSettingsOn(dependencies)
    await dependencies.engine.flush()
    const { changes } = await dependencies.store.transaction(tx =>
      tx.execute('UPDATE gamify_notifications SET acknowledged_at = ? WHERE user_id = ? AND acknowledged_at IS NULL', [
        dependencies.now(),
        userIdOf(dependencies.settings())
      ])
    )
    if (changes > 0) dependencies.changed()
    return { acknowledged: changes }
  }
}
