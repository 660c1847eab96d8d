export const MOODS = ['happy', 'focused', 'neutral', 'worried', 'tired'] as const
export type Mood = (typeof MOODS)[number]

export interface Companion {
  readonly mood: Mood
  /** 0 to 100. */
  readonly health: number
  /** 0 to 100. */
  readonly energy: number
}

export const NEW_COMPANION: Companion = { mood: 'neutral', health: 100, energy: 100 }

/** Changes of health by events. Each event also costs 1 energy. */
const HEALTH: Readonly<Record<string, number>> = {
  task_completed: 2,
  task_failed: -4,
  task_doubted: -2,
  task_resolved: 3,
  build_clean: 3,
  build_failed: -3,
  check_failed: -1,
  test_pass: 2,
  test_fail: -2,
  test_suite_green: 5,
  bug_fix: 4,
  lint_clean: 2,
  diagnostics_clean: 1,
  stub_check_debt: -5,
  scope_violation: -6
}

const MAX = 100
/** Hours of rest that restore all energy. */
const REST_MS = 8 * 3_600_000

/** Returns the companion after an event, `restMs` milliseconds after the one before. */
export function companionAfter(companion: Companion, event: string, restMs: number): Companion {
  const rest = Math.floor((Math.max(0, restMs) / REST_MS) * MAX)
  const energy = clamp(clamp(companion.energy + rest) - 1)
  const change = HEALTH[event] ?? 0
  const health = clamp(companion.health + change)
  return { health, energy, mood: moodOf(health, energy, change) }
}

function moodOf(health: number, energy: number, change: number): Mood {
  if (energy < 15) return 'tired'
  if (health < 35 || change <= -4) return 'worried'
  if (change >= 2) return 'happy'
  return health >= 90 && change >= 0 ? 'focused' : 'neutral'
}

function clamp(value: number): number {
  return Math.max(0, Math.min(MAX, value))
}

const SPRITES: Readonly<Record<Mood, string>> = {
  happy: ' /\\_/\\\n( ^.^ )\n > ~ <',
  focused: ' /\\_/\\\n( o.o )\n > = <',
  neutral: ' /\\_/\\\n( -.- )\n > _ <',
  worried: ' /\\_/\\\n( o_O )\n > . <',
  tired: ' /\\_/\\\n( u.u )\n > z <'
}

/** Returns a picture of three lines. */
export function spriteOf(mood: Mood): string {
  return SPRITES[mood]
}
