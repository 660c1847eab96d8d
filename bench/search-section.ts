import { withRange } from './figures.ts'
import { runBenchmark } from './run-benchmark.ts'
import type { SearchResult } from './search.ts'

/** Measures the section on the index of the search, without its heading. */
export async function measureSearch(): Promise<string[]> {
  const result = await runBenchmark<SearchResult>('search')
  const { files, chunks, lister, indexMs, byHandMs, timesOfByHand, unchangedMs, queryMs, saveMs } = result
  const seconds = ({ median, min, max }: typeof indexMs) =>
    withRange({ median: median / 1_000, min: min / 1_000, max: max / 1_000 }, ' s')
  return [
    '',
    `A project of ${files.toLocaleString('en')} files with ${chunks.toLocaleString('en')} passages (\`bench/search.ts\`). By hand: ${lister} lists the files, and a loop`,
    'writes the same passages into an FTS5 table of the same database engine. Medians of rounds that measure both, with the range.',
    '',
    '| what | time | goal |',
    '|---|---|---|',
    `| index of all files | ${seconds(indexMs)} | |`,
    `| by hand | ${seconds(byHandMs)} | |`,
    `| svc divided by the loop by hand | ${withRange(timesOfByHand, 'x')} | 2x |`,
    `| run without changes | ${unchangedMs} ms | |`,
    `| update after a saved file | ${withRange(saveMs, ' ms')} | 200 ms |`,
    `| query of three words, full text | ${withRange(queryMs, ' ms')} | 20 ms |`,
    '',
    '- The range of updates and queries is that of the inner 90 %.',
    '- Words have frequencies as in texts: the n-th occurs about 1/n as often as the first.'
  ]
}
