import { bucket } from './fnv1a.ts'

export const QUESTS_PER_DAY = 3

interface QuestType {
  readonly type: string
  /** Description; `{n}` is the target. */
  readonly text: string
  /** Events that count; empty: every event. */
  readonly events: readonly string[]
  readonly target: number
  readonly xp: number
  readonly crystals: number
}

/** The 14 types of quests. */
export const QUEST_TYPES: readonly QuestType[] = [
  { type: 'complete_tasks', text: 'Complete {n} tasks', events: ['task_completed'], target: 3, xp: 60, crystals: 20 },
  { type: 'resolve_doubts', text: 'Resolve {n} doubts', events: ['task_resolved'], target: 1, xp: 30, crystals: 15 },
  {
    type: 'clean_builds',
    text: 'Build {n} times without an error',
    events: ['build_clean'],
    target: 2,
    xp: 50,
    crystals: 15
  },
  {
    type: 'run_checks',
    text: 'Check programs {n} times',
    events: ['check_completed'],
    target: 5,
    xp: 30,
    crystals: 10
  },
  {
    type: 'pass_tests',
    text: 'Run {n} passing tests',
    events: ['test_pass', 'test_suite_green'],
    target: 3,
    xp: 60,
    crystals: 15
  },
  { type: 'fix_bugs', text: 'Fix {n} bugs', events: ['bug_fix'], target: 2, xp: 120, crystals: 30 },
  { type: 'write_docs', text: 'Add {n} documents', events: ['doc_added'], target: 2, xp: 40, crystals: 10 },
  {
    type: 'format_code',
    text: 'Format sources {n} times',
    events: ['fmt_applied', 'fmt_completed'],
    target: 3,
    xp: 15,
    crystals: 10
  },
  {
    type: 'clear_findings',
    text: 'Clear {n} files of findings',
    events: ['diagnostics_clean', 'lint_clean'],
    target: 4,
    xp: 30,
    crystals: 10
  },
  {
    type: 'clean_scans',
    text: 'Scan {n} times without a finding',
    events: ['toestub_scan_clean', 'toestub_violations_fixed'],
    target: 2,
    xp: 40,
    crystals: 15
  },
  {
    type: 'review_code',
    text: 'Review {n} changes',
    events: ['code_reviewed', 'pr_merged'],
    target: 1,
    xp: 80,
    crystals: 20
  },
  {
    type: 'capture_snapshots',
    text: 'Capture {n} snapshots',
    events: ['snapshot_captured'],
    target: 3,
    xp: 40,
    crystals: 10
  },
  {
    type: 'finish_workflows',
    text: 'Finish {n} workflows',
    events: ['workflow_completed', 'plan_handoff'],
    target: 1,
    xp: 80,
    crystals: 25
  },
  { type: 'stay_active', text: 'Do {n} rewarded actions', events: [], target: 15, xp: 15, crystals: 10 }
]

interface QuestModifier {
  readonly name: string
  readonly target: number
  readonly reward: number
}

/** Modifiers: factors of the target and of the reward. */
export const QUEST_MODIFIERS: readonly QuestModifier[] = [
  { name: 'plain', target: 1, reward: 1 },
  { name: 'double', target: 2, reward: 2.5 },
  { name: 'gentle', target: 0.5, reward: 0.5 },
  { name: 'rich', target: 1, reward: 1.5 }
]

/** Quest of a day, as it is created. */
export interface NewQuest {
  readonly questType: string
  readonly modifier: string
  readonly description: string
  readonly target: number
  readonly xpReward: number
  readonly crystalReward: number
  /** Unix milliseconds: the end of the day in UTC. */
  readonly expiresAt: number
}

/**
 * Returns the three quests of a user for a day, always the same ones. The FNV-1a hash of user, day and place chooses
 * among the types that are left, and then a modifier. `day`: UTC, YYYY-MM-DD.
 */
export function questsOf(user: string, day: string): readonly NewQuest[] {
  const left = [...QUEST_TYPES]
  const expiresAt = Date.parse(day) + 86_400_000
  return Array.from({ length: QUESTS_PER_DAY }, (_, place) => {
    const [quest] = left.splice(bucket(left.length, user, day, `quest:${place}`), 1) as [QuestType]
    const modifier = QUEST_MODIFIERS[bucket(QUEST_MODIFIERS.length, user, day, `modifier:${place}`)] as QuestModifier
    const target = Math.max(1, Math.floor(quest.target * modifier.target))
    return {
      questType: quest.type,
      modifier: modifier.name,
      description: quest.text.replace('{n}', String(target)),
      target,
      xpReward: Math.floor(quest.xp * modifier.reward),
      crystalReward: Math.floor(quest.crystals * modifier.reward),
      expiresAt
    }
  })
}

const EVENTS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  QUEST_TYPES.map(({ type, events }) => [type, new Set(events)])
)

/** True if an event counts for a type of quest. `isRewarded`: whether the event has base values above 0. */
export function countsFor(questType: string, event: string, isRewarded: boolean): boolean {
  const events = EVENTS.get(questType)
  if (events === undefined) return false
  return events.size === 0 ? isRewarded : events.has(event)
}
