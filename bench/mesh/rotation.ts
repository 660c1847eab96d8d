import { figureOf, median, withRange } from '../figures.ts'

/** Program under test. */
export interface Contestant {
  readonly name: string
  /** Versions and configuration, for the report. */
  readonly about: string
  /** Returns operations per second. */
  measure(milliseconds: number): Promise<number>
  close(): Promise<void>
}

export interface Rates {
  readonly name: string
  readonly about: string
  /** Operations per second, by round. */
  readonly rounds: readonly number[]
}

export interface RotationOptions {
  readonly rounds: number
  readonly milliseconds: number
}

/** Measures all contestants in rotation, after a warm-up, so that each round has the same conditions for all. */
export async function inRotation(
  contestants: readonly Contestant[],
  { rounds, milliseconds }: RotationOptions
): Promise<readonly Rates[]> {
  const rates = contestants.map(({ name, about }) => ({ name, about, rounds: [] as number[] }))
  for (const contestant of contestants) await contestant.measure(milliseconds)
  for (let round = 0; round < rounds; round += 1)
    for (const [index, contestant] of contestants.entries())
      rates[index]?.rounds.push(await contestant.measure(milliseconds))
  return rates
}

/** Repeats one cycle in each caller until the time is over. Returns cycles per second. */
export async function cyclesPerSecond(cycles: readonly (() => Promise<void>)[], milliseconds: number): Promise<number> {
  let count = 0
  const begin = performance.now()
  const call = async (cycle: () => Promise<void>): Promise<void> => {
    while (performance.now() - begin < milliseconds) {
      await cycle()
      count += 1
    }
  }
  await Promise.all(cycles.map(call))
  return count / ((performance.now() - begin) / 1_000)
}

/** Returns one line for each contestant, with its ratio to the contestant `base` of the same rounds. */
export function ratesText(all: readonly Rates[], base: string): string {
  const of = all.find(({ name }) => name === base)
  return all
    .map(({ name, rounds, about }) => {
      const ratio = of === undefined ? '' : `, ${ratioText(rounds, of.rounds)} of ${base}`
      return `${name}: ${withRange(figureOf(rounds), '/s')}${ratio}\n  ${about}\n`
    })
    .join('')
}

function ratioText(over: readonly number[], under: readonly number[]): string {
  return `${median(over.map((value, round) => value / (under[round] ?? Number.NaN))).toFixed(2)}x`
}
