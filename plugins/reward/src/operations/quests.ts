import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { questsOf } from '../rules/quests.ts'
import { dayOf } from '../rules/streak.ts'
import { loadQuests } from '../store/load-state.ts'
import { gamifyTool } from './expose.ts'

const { RWD_OFF } = rewardErrors.specs

export const questList = defineOperation({
  id: 'reward.quest_list',
  summary: "List today's quests with their progress",
  input: t.object({}),
  output: t.object({
    day: t.string({ description: 'Day in UTC, YYYY-MM-DD.' }),
    expires_at: t.string({ format: 'date-time' }),
    quests: t.array(
      t.object({
        quest_type: t.string(),
        modifier: t.string({ description: 'plain, double, gentle or rich.' }),
        description: t.string(),
        progress: t.integer(),
        target: t.integer(),
        completed: t.boolean(),
        xp_reward: t.integer(),
        crystal_reward: t.integer()
      })
    )
  }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/quests' },
    mcp: gamifyTool('quest_list', 'The three quests of the day. Totals of the user: svc_gamify_progress_snapshot.'),
    rpc: true,
    cli: {
      command: 'reward quests',
      view: {
        rows: 'quests',
        columns: ['description', 'progress', 'target', 'completed', 'xp_reward', 'crystal_reward']
      }
    }
  }
})

export function questsHandler(dependencies: Dependencies): Handler<typeof questList> {
  return async () => {
    const { tx, user } = await settledReader(dependencies)
    const day = dayOf(dependencies.now())
    const stored = await loadQuests(tx, user, JSON.stringify([day]))
    const quests =
      stored.length > 0 ? stored : questsOf(user, day).map(quest => ({ ...quest, progress: 0, completed: false }))
    return {
      day,
      expires_at: new Date(Date.parse(day) + 86_400_000).toISOString(),
      quests: quests.map(quest => ({
        quest_type: quest.questType,
        modifier: quest.modifier,
        description: quest.description,
        progress: quest.progress,
        target: quest.target,
        completed: quest.completed,
        xp_reward: quest.xpReward,
        crystal_reward: quest.crystalReward
      }))
    }
  }
}
