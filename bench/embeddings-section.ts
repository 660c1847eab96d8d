import type { EmbeddingsResult } from './embeddings.ts'
import { withRange } from './figures.ts'
import { peers } from './inference/peers.ts'
import { runBenchmark } from './run-benchmark.ts'

const KINDS = { queries: 'queries', paragraphs: 'paragraphs', equal: 'like length' } as const

/** Returns the result as lines of a Markdown table. */
export function embeddingsTable({ results, skipped }: EmbeddingsResult): string[] {
  return [
    '| texts | in a call | program | texts per second | CPU time of a text | svc divided by it |',
    '|---|---|---|---|---|---|',
    ...results.map(({ kind, batch, name, speed, cpuMs, ratio }) => {
      const cells = [withRange(speed), withRange(cpuMs, ' ms'), ratio === null ? '–' : withRange(ratio, 'x')]
      return `| ${[KINDS[kind], batch, name, ...cells].join(' | ')} |`
    }),
    ...skipped.flatMap(({ name, reason }) => ['', `${name} did not run: ${reason}.`])
  ]
}

/** Measures the section on embeddings, without its heading. */
export async function measureEmbeddings(): Promise<string[]> {
  const result = await runBenchmark<EmbeddingsResult>('embeddings')
  return [
    '',
    `The shape of all-MiniLM-L6-v2 with random weights, ${result.threads} threads: svc against ${peers.transformers} and fastembed on the`,
    'same weights, and a static table against model2vec (`bench/embeddings.ts`). All compute the same vectors. Medians of rounds that',
    'measure all programs in rotation, with the range of the rounds in parentheses.',
    '',
    ...embeddingsTable(result),
    '',
    '- Queries are the first nine words of a paragraph, paragraphs those of `docs/`. Texts of like length have about 128 tokens.',
    '- fastembed and transformers.js pad the texts of a call to the longest one; svc sorts texts by length into runs.',
    '- The CPU time includes threads that wait actively for work; those of svc stop that at the end of a call.'
  ]
}
