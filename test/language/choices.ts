import { randomFrom } from '../../plugins/compiler/test/mutated-source.ts'

/**
 * Source of choices for a generator. All choices of a case form a list of small numbers, and smaller numbers stand for
 * simpler choices. So a case is made simpler by a shorter or smaller list, whatever the generator makes of it.
 */
export class Choices {
  readonly made: number[] = []
  readonly #given: readonly number[] | null
  readonly #random: () => number

  /** Replays `given` and then chooses 0; if it is null, chooses at random. */
  constructor(given: readonly number[] | null, random: () => number = () => 0) {
    this.#given = given
    this.#random = random
  }

  static seeded(seed: number): Choices {
    return new Choices(null, randomFrom(seed))
  }

  /** Returns a number from 0 to `count - 1`. */
  below(count: number): number {
    const drawn = this.#given === null ? Math.floor(this.#random() * count) : (this.#given[this.made.length] ?? 0)
    const choice = Math.min(drawn, count - 1)
    this.made.push(choice)
    return choice
  }

  /** True in `percent` of the cases. */
  often(percent: number): boolean {
    return this.below(100) >= 100 - percent
  }

  pick<A>(items: readonly [A, ...A[]] | readonly A[]): A {
    return items[this.below(items.length)] as A
  }
}

/** Runs a case with these choices. Returns true if it still fails. */
export type Fails = (choices: Choices) => boolean

/** Returns the simplest failing list of choices that is found within `budget` runs. */
export function shrink(failing: readonly number[], fails: Fails, budget = 2_000): readonly number[] {
  let best = failing
  let runs = 0
  const attempt = (candidate: readonly number[]): boolean => {
    if (runs++ >= budget) return false
    const choices = new Choices(candidate)
    if (!fails(choices) || !isSimpler(choices.made, best)) return false
    best = choices.made
    return true
  }
  for (let before: readonly number[] | null = null; before !== best && runs < budget; ) {
    before = best
    for (let size = Math.max(1, best.length >> 1); size >= 1; size >>= 1) {
      for (let at = best.length - size; at >= 0; at -= size) attempt([...best.slice(0, at), ...best.slice(at + size)])
    }
    for (let at = 0; at < best.length; at++) {
      for (const smaller of [0, (best[at] as number) >> 1, (best[at] as number) - 1]) {
        if (smaller >= 0 && smaller < (best[at] as number) && attempt(best.with(at, smaller))) break
      }
    }
  }
  return best
}

function isSimpler(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return a.length < b.length
  const at = a.findIndex((choice, index) => choice !== b[index])
  return at !== -1 && (a[at] as number) < (b[at] as number)
}
