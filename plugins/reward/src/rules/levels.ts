export const PRESTIGE_LEVEL = 200
const PRESTIGE_STEP = 0.05
const MAX_PRESTIGE_BONUS = 0.6
const BASE_ENERGY = 100
const ENERGY_PER_LEVEL = 5
const ENERGY_INTERVAL_MS = 300_000

/** Returns the experience that a level needs: 0 for level 1, 100 for level 2, 250 for level 3. */
export function xpForLevel(level: number): number {
  return 25 * (level * level + level - 2)
}

/** Returns the level for an amount of experience. Exact, also where the square root is rounded. */
export function levelOf(xp: number): number {
  let level = Math.max(1, Math.floor((Math.sqrt(9 + 0.16 * xp) - 1) / 2))
  while (xpForLevel(level + 1) <= xp) level += 1
  while (level > 1 && xpForLevel(level) > xp) level -= 1
  return level
}

/** Returns the experience that remains after a prestige. */
export function xpAfterPrestige(xp: number): number {
  return Math.floor(xp / 10)
}

/** Returns the factor of rewards after a number of prestiges: 5 % for each, at most 60 %. */
export function prestigeFactor(prestige: number): number {
  return 1 + Math.min(PRESTIGE_STEP * prestige, MAX_PRESTIGE_BONUS)
}

/** Returns the maximum energy: 100 at level 1, and 5 more for each further level. */
export function maxEnergy(level: number): number {
  return BASE_ENERGY + ENERGY_PER_LEVEL * (level - 1)
}

/** Energy at a time. Times are Unix milliseconds. */
export interface Energy {
  readonly energy: number
  readonly at: number
}

/** Returns the energy at `now`: 1 more for each full 300 s, at most `max`. Keeps the rest of the interval. */
export function energyAt({ energy, at }: Energy, max: number, now: number): Energy {
  if (energy >= max) return { energy: max, at: Math.max(at, now) }
  const gained = Math.max(0, Math.floor((now - at) / ENERGY_INTERVAL_MS))
  if (energy + gained >= max) return { energy: max, at: now }
  return { energy: energy + gained, at: at + gained * ENERGY_INTERVAL_MS }
}
