export interface Achievement {
  readonly name: string
  readonly title: string
  readonly description: string
}

interface CountedAchievement extends Achievement {
  /** Type of event, and its count over all time from which the achievement is reached. */
  readonly event: string
  readonly count: number
}

/** Achievements for a resolved doubt. */
const DOUBT_ACHIEVEMENTS = {
  healthy_skepticism: { title: 'Healthy skepticism', description: 'A doubt was raised and cleared.' },
  internal_affairs: { title: 'Internal affairs', description: 'An audit found an obsequious answer.' },
  blind_faith: { title: 'Blind faith', description: 'A doubt proved right, so the result could not be trusted.' }
} as const

const COUNTED: readonly CountedAchievement[] = [
  counted('first_task', 'First task', 'Completed a task.', 'task_completed', 1),
  counted('ten_tasks', 'Ten tasks', 'Completed 10 tasks.', 'task_completed', 10),
  counted('hundred_tasks', 'A hundred tasks', 'Completed 100 tasks.', 'task_completed', 100),
  counted('first_clean_build', 'First clean build', 'Built without an error.', 'build_clean', 1),
  counted('bug_hunter', 'Bug hunter', 'Fixed 10 bugs.', 'bug_fix', 10),
  counted('green_suite', 'Green suite', 'A whole test suite passed.', 'test_suite_green', 1),
  counted('scribe', 'Scribe', 'Added 10 documents.', 'doc_added', 10),
  counted('tidy', 'Tidy', 'Cleared 25 files of findings.', 'diagnostics_clean', 25),
  counted('reviewer', 'Reviewer', 'Reviewed 10 changes.', 'code_reviewed', 10),
  counted('conductor', 'Conductor', 'Completed 5 workflows.', 'workflow_completed', 5),
  counted('publisher', 'Publisher', 'Published a package.', 'pkg_published', 1)
]

const REACHED = {
  streak_7: { title: 'A week', description: 'Active on 7 days in a row.' },
  streak_30: { title: 'A month', description: 'Active on 30 days in a row.' },
  level_10: { title: 'Level 10', description: 'Reached level 10.' },
  level_50: { title: 'Level 50', description: 'Reached level 50.' },
  first_quest: { title: 'First quest', description: 'Completed a quest.' },
  first_battle: { title: 'First battle', description: 'Repaired a program in a battle.' }
} as const

export const ACHIEVEMENTS: ReadonlyMap<string, Achievement> = new Map(
  [
    ...Object.entries({ ...DOUBT_ACHIEVEMENTS, ...REACHED }).map(([name, each]) => ({ name, ...each })),
    ...COUNTED.map(({ name, title, description }) => ({ name, title, description }))
  ].map(each => [each.name, each])
)

function counted(name: string, title: string, description: string, event: string, count: number): CountedAchievement {
  return { name, title, description, event, count }
}

/** Returns the achievements of a resolved doubt. */
export function doubtAchievements(event: { readonly [field: string]: unknown }): readonly string[] {
  if (event.validated === true) return ['blind_faith']
  if (event.validated !== false) return []
  const { report } = event
  const isObsequious = typeof report === 'string' && report.toLowerCase().includes('obsequious')
  return isObsequious ? ['healthy_skepticism', 'internal_affairs'] : ['healthy_skepticism']
}

/** Returns the achievements that the count of a type of event reaches. */
export function countAchievements(event: string, count: number): readonly string[] {
  return COUNTED.filter(each => each.event === event && count >= each.count).map(({ name }) => name)
}

/** Returns the achievements that a profile reaches. */
export function profileAchievements(level: number, streakDays: number): readonly string[] {
  return [
    ...(streakDays >= 7 ? ['streak_7'] : []),
    ...(streakDays >= 30 ? ['streak_30'] : []),
    ...(level >= 10 ? ['level_10'] : []),
    ...(level >= 50 ? ['level_50'] : [])
  ]
}
