import { setImmediate as turn } from 'node:timers/promises'

/** Work that is done between two looks at the clock. */
const UNITS_PER_LOOK = 1024
const MAX_MS = 8

/**
 * Keeps long work from blocking the event loop: `if (pauses.due()) await pauses.take()` after each piece of work pauses
 * for other events every 8 ms.
 */
export class Pauses {
  #units = 0
  #since = performance.now()

  /** Counts work, in units of about a microsecond or less. Returns true if a pause is due. */
  due(units = 1): boolean {
    this.#units += units
    if (this.#units < UNITS_PER_LOOK) return false
    this.#units = 0
    return performance.now() - this.#since >= MAX_MS
  }

  async take(): Promise<void> {
    await turn()
    this.#since = performance.now()
  }
}

/** Items of a slice that is sorted without a pause. */
const SLICE = 2 ** 13

/** Returns the items in order, like `Array.prototype.toSorted`, but with pauses. */
export async function sortWithPauses<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  pauses: Pauses
): Promise<readonly T[]> {
  let runs: T[][] = []
  for (let start = 0; start < items.length; start += SLICE) {
    runs.push(items.slice(start, start + SLICE).sort(compare))
    if (pauses.due(SLICE)) await pauses.take()
  }
  while (runs.length > 1) {
    const joined: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right = []] = runs.slice(at, at + 2) as [T[], T[]?]
      joined.push(await mergeRuns(left, right, compare, pauses))
    }
    runs = joined
  }
  return runs[0] ?? []
}

async function mergeRuns<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  pauses: Pauses
): Promise<T[]> {
  const merged: T[] = []
  let [i, j] = [0, 0]
  while (merged.length < left.length + right.length) {
    const takesLeft = j === right.length || (i < left.length && compare(left[i] as T, right[j] as T) <= 0)
    merged.push((takesLeft ? left[i++] : right[j++]) as T)
    if (pauses.due()) await pauses.take()
  }
  return merged
}
