import { withRange } from './figures.ts'
import type { HybridResult } from './hybrid.ts'
import { runBenchmark } from './run-benchmark.ts'

/** Measures the section on Qwen3.5, without its heading. */
export async function measureHybrid(): Promise<string[]> {
  return hybridSection(await runBenchmark<HybridResult>('hybrid'))
}

/** Returns the lines of the section for a result. */
export function hybridSection({ shape, threads, longPromptTokens, ...result }: HybridResult): string[] {
  const long = new Intl.NumberFormat('en-US').format(longPromptTokens)
  return [
    '',
    `Random weights in the shape of Qwen3.5-${shape.toUpperCase()} (three of four layers have linear attention), ${threads} threads, no speculation`,
    '(`bench/hybrid.ts`). Tokens per second: medians of rounds, with their range in parentheses.',
    '',
    `| weights | decode | prompt of 512 tokens | prompt of ${long} tokens | 64 more tokens | divided by the whole prompt | peak memory |`,
    '|---|---|---|---|---|---|---|',
    ...result.results.map(({ name, decode, prompt, longPrompt, nextTurn, nextTurnRatio, peakMegabytes }) => {
      const speeds = [decode, prompt, longPrompt].map(each => withRange(each))
      const rest = [withRange(nextTurn, ' ms'), withRange(nextTurnRatio), `${Math.round(peakMegabytes)} MB`]
      return `| ${[name, ...speeds, ...rest].join(' | ')} |`
    }),
    '',
    `- A sequence needs ${(result.stateBytes / 2 ** 20).toFixed(1)} MiB for its linear layers, and ${result.tokenBytes / 1024} KiB for each token.`,
    '- "64 more tokens" is the time to the first token of the long prompt with 64 tokens behind it, after the long prompt.'
  ]
}
