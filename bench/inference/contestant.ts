import { startChild } from './child.ts'
import type { OpenOptions } from './engines.ts'
import type { Measured } from './stopwatch.ts'

/** Engine with one model that runs in a separate process. */
export interface Contestant {
  readonly name: string
  /** Reads the prompt and generates `count` tokens. `reusePrefix`: only for this engine. */
  measure(prompt: readonly number[], count: number, reusePrefix?: boolean): Promise<Measured>
  /** Returns the peak resident set size in bytes, including mapped files. */
  peakMemory(): number
  stop(): Promise<void>
}

/** Argument of the process. */
export interface ContestantOptions {
  /** Key of `engines`. */
  readonly engine: string
  readonly options: OpenOptions
}

export interface Question {
  readonly prompt: readonly number[]
  readonly count: number
  readonly reusePrefix?: boolean | undefined
}

export async function startContestant(name: string, argument: ContestantOptions): Promise<Contestant> {
  const child = await startChild<Measured>('contestant-program', name, argument)
  const measure: Contestant['measure'] = (prompt, count, reusePrefix) =>
    child.ask({ prompt, count, reusePrefix } satisfies Question)
  return { name, measure, peakMemory: child.peakMemory, stop: child.stop }
}
