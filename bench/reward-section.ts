import { withRange } from './figures.ts'
import type { Result } from './reward.ts'
import { runBenchmark } from './run-benchmark.ts'

const MAX_US = 50

/** Runs the benchmark of reward events. Returns the lines of its section. */
export async function measureReward(): Promise<string[]> {
  return rewardSection(await runBenchmark<Result>('reward'))
}

/** Returns the lines of the section for a result. */
export function rewardSection(result: Result): string[] {
  const { offNs, emitterUs, emptyTapUs, onUs, onToEmitter, onToEmptyTap, committedUs } = result
  return [
    '',
    'Cost of a reward event for the plugin that sends it, in bursts of 500 (`bench/reward.ts`):',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    `| rewards are switched off | ${withRange(offNs, ' ns')} | – | |`,
    `| rewards are on | ${withRange(onUs, ' µs')} | ≤ ${MAX_US} µs | ${onUs.median <= MAX_US ? 'reached' : 'missed'} |`,
    `| the same, vs. a tap that does nothing (${withRange(emptyTapUs, ' µs')}) | ${withRange(onToEmptyTap, 'x')} | – | |`,
    `| the same, vs. a listener of an EventEmitter (${withRange(emitterUs, ' µs')}) | ${withRange(onToEmitter, 'x')} | – | |`,
    `| CPU time of the whole process until an event is committed | ${withRange(committedUs, ' µs')} | – | |`
  ]
}
