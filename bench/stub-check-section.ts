import { withRange } from './figures.ts'
import { runBenchmark } from './run-benchmark.ts'
import type { Result } from './stub-check.ts'

const MAX_SECONDS = 10
const MIN_RATIO = 5

/** Runs the benchmark of the stub check. Returns the lines of its section. */
export async function measureStubCheck(): Promise<string[]> {
  return stubCheckSection(await runBenchmark<Result>('stub-check'))
}

/** Returns the lines of the section for a result. */
export function stubCheckSection(result: Result): string[] {
  const { all, cpu, shared, toSemgrep } = result
  const count = new Intl.NumberFormat('en-US').format(result.files)
  return [
    '',
    `A generated repository of ${count} Python and TypeScript files (${result.megabytes.toFixed(1)} MB), without a cache, two threads (\`bench/stub-check.ts\`):`,
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    `| scan with all rules | ${withRange(all, ' s')}, ${withRange(cpu, ' s')} of CPU time | ≤ ${MAX_SECONDS} s | ${all.median <= MAX_SECONDS ? 'reached' : 'missed'} |`,
    `| scan with the rules that semgrep has, too | ${withRange(shared, ' s')} | – | |`,
    toSemgrep === null
      ? '| the same, vs. semgrep | semgrep could not be installed | ≥ 5x | |'
      : `| the same, vs. semgrep 1.185.0 with equivalent rules, in the same rounds | ${withRange(toSemgrep, 'x')} | ≥ ${MIN_RATIO}x | ${toSemgrep.median >= MIN_RATIO ? 'reached' : 'missed'} |`
  ]
}
