import { type DashboardPage, dashboardActions, dashboardCards, dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const PAGE = 'reward/reward'
const EMPTY = 'Nothing yet. Events come from tasks, builds, checks, tests and tools.'

const page: DashboardPage = {
  path: PAGE,
  title: 'Reward',
  summary: 'Level, streak, quests and the explanation of each reward. To switch it off: svc reward off',
  icon: 'sparkles',
  section: 'observe',
  order: 90,
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Progress',
        view: {
          kind: 'stack',
          items: [
            {
              view: {
                kind: 'record',
                operation: 'reward.progress_snapshot',
                columns: [
                  { field: 'enabled', title: 'On', format: 'boolean' },
                  { field: 'level', title: 'Level', format: 'number' },
                  { field: 'xp', title: 'Experience', format: 'number' },
                  { field: 'xp_to_next_level', title: 'To the next level', format: 'number' },
                  { field: 'streak_days', title: 'Streak in days', format: 'number' },
                  { field: 'streak_shields', title: 'Streak shields', format: 'number' },
                  { field: 'energy', title: 'Energy', format: 'number' },
                  { field: 'max_energy', title: 'Maximum energy', format: 'number' },
                  { field: 'crystals', title: 'Crystals', format: 'number' },
                  { field: 'lumens', title: 'Lumens', format: 'number' },
                  { field: 'prestige', title: 'Prestige', format: 'number' },
                  { field: 'mode', title: 'Mode' },
                  { field: 'user_id', title: 'User' },
                  { field: 'note', title: 'Next step' }
                ]
              }
            },
            {
              title: 'Quests of the day',
              view: {
                kind: 'table',
                operation: 'reward.quest_list',
                rows: 'quests',
                key: 'quest_type',
                columns: [
                  { field: 'description', title: 'Quest' },
                  { field: 'progress', title: 'Done', format: 'number' },
                  { field: 'target', title: 'Of', format: 'number' },
                  { field: 'completed', title: 'Completed', format: 'boolean' },
                  { field: 'xp_reward', title: 'Experience', format: 'number' },
                  { field: 'crystal_reward', title: 'Crystals', format: 'number' }
                ]
              }
            },
            {
              title: 'Companion',
              view: {
                kind: 'record',
                operation: 'reward.check_mood',
                columns: [
                  { field: 'name', title: 'Name' },
                  { field: 'mood', title: 'Mood', format: 'state' },
                  { field: 'health', title: 'Health', format: 'number' },
                  { field: 'energy', title: 'Energy', format: 'number' },
                  { field: 'picture', title: 'Picture', format: 'code' }
                ]
              }
            }
          ]
        }
      },
      {
        title: 'Rewards',
        view: {
          kind: 'table',
          operation: 'reward.events',
          input: { limit: { value: 200 } },
          rows: 'events',
          key: 'id',
          columns: [
            { field: 'at', title: 'Time', format: 'time' },
            { field: 'type', title: 'Event', format: 'code' },
            { field: 'source', title: 'Source' },
            { field: 'xp', title: 'Experience', format: 'number' },
            { field: 'crystals', title: 'Crystals', format: 'number' },
            { field: 'lumens', title: 'Lumens', format: 'number' },
            { field: 'explanation', title: 'Explanation' },
            { field: 'mode_label', title: 'Mode' }
          ],
          filters: [{ name: 'type', label: 'Event', field: 'type' }],
          empty: EMPTY
        }
      },
      {
        title: 'Notifications',
        view: {
          kind: 'stack',
          items: [
            {
              view: {
                kind: 'table',
                operation: 'reward.notifications_list',
                input: { limit: { value: 200 } },
                rows: 'notifications',
                key: 'id',
                of: 'reward-notification',
                columns: [
                  { field: 'created_at', title: 'Time', format: 'time' },
                  { field: 'kind', title: 'Kind' },
                  { field: 'message', title: 'Message' }
                ],
                empty: 'No unread notifications.'
              }
            },
            {
              view: { kind: 'form', operation: 'reward.notifications_ack_all', submit: 'Mark all as read' }
            }
          ]
        }
      },
      {
        title: 'Achievements',
        view: {
          kind: 'table',
          operation: 'reward.achievements',
          rows: 'achievements',
          key: 'name',
          columns: [
            { field: 'title', title: 'Achievement' },
            { field: 'description', title: 'Description' },
            { field: 'reached_at', title: 'Reached', format: 'time' }
          ]
        }
      },
      {
        title: 'Hints',
        view: {
          kind: 'table',
          operation: 'reward.hints',
          rows: 'hints',
          key: 'kind',
          columns: [
            { field: 'kind', title: 'Mistake' },
            { field: 'occurrences', title: 'Seen', format: 'number' },
            { field: 'hints_shown', title: 'Hints', format: 'number' },
            { field: 'last_hint', title: 'Last hint' },
            { field: 'last_hint_at', title: 'Time', format: 'time' }
          ]
        }
      },
      {
        title: 'Digest',
        view: { kind: 'text', operation: 'reward.digest', field: 'text', format: 'code' }
      },
      {
        title: 'Settings',
        view: {
          kind: 'stack',
          items: [
            {
              view: {
                kind: 'record',
                operation: 'reward.config',
                columns: [
                  { field: 'enabled', title: 'On', format: 'boolean' },
                  { field: 'decided_by', title: 'Decided by' },
                  { field: 'mode', title: 'Mode' },
                  { field: 'channel', title: 'Channel' },
                  { field: 'verbosity', title: 'Verbosity' },
                  { field: 'max_messages_per_hour', title: 'Messages per hour', format: 'number' },
                  { field: 'stored_enabled', title: 'Stored switch' },
                  { field: 'stored_mode', title: 'Stored mode' },
                  { field: 'trust_tier', title: 'Trust tier' }
                ]
              }
            },
            { view: { kind: 'form', operation: 'reward.config_set', submit: 'Store' } }
          ]
        }
      }
    ]
  }
}

/** Contributes the page Reward, and a card with level and streak. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardActions, {
    on: 'reward-notification',
    label: 'Mark as read',
    operation: 'reward.notification_ack',
    bind: { id: { from: 'row', name: 'id' } }
  })
  ctx.contribute(dashboardCards, {
    title: 'Reward',
    order: 90,
    size: 's',
    link: { page: PAGE },
    view: {
      kind: 'record',
      operation: 'reward.progress_snapshot',
      columns: [
        { field: 'enabled', title: 'On', format: 'boolean' },
        { field: 'level', title: 'Level', format: 'number' },
        { field: 'streak_days', title: 'Streak in days', format: 'number' },
        { field: 'unread_notifications', title: 'Unread notifications', format: 'number' }
      ]
    }
  })
}
