import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedEmbedder } from '@svc/contracts'
import t, { type Test } from 'tap'
import { fixtures, openEmbeddings } from './support.ts'

/** Vectors and scores of sentence-transformers, model2vec and transformers; see the fixtures' README. */
interface Reference {
  readonly texts: readonly string[]
  readonly tokens?: readonly (readonly number[])[]
  readonly vectors: readonly (readonly number[])[]
  readonly query?: readonly (readonly number[])[]
  readonly passage?: readonly (readonly number[])[]
  readonly pairs: readonly (readonly [string, string])[]
  readonly scores: readonly number[]
}

const TOLERANCE = 1e-4
const expected = JSON.parse(await readFile(join(fixtures, 'expected.json'), 'utf8')) as Record<string, Reference>
const embeddings = await openEmbeddings(t)

async function load(test: Test, name: string): Promise<LoadedEmbedder> {
  const model = await embeddings.load({ directory: join(fixtures, name) })
  test.teardown(() => model.close())
  return model
}

/** Asserts that each row equals the reference. */
function equalRows(test: Test, values: Float32Array, rows: readonly (readonly number[])[], claim: string): void {
  const wanted = rows.flat()
  test.equal(values.length, wanted.length, `${claim}: as many numbers`)
  const difference = Math.max(...wanted.map((value, at) => Math.abs(value - (values[at] as number))))
  test.ok(difference <= TOLERANCE, `${claim}: largest difference ${difference}`)
}

for (const name of Object.keys(expected).filter(each => !each.includes('reranker'))) {
  const { texts, tokens, vectors, query, passage } = expected[name] as Reference
  t.test(`${name}: vectors equal the reference, one by one and in one batch`, async test => {
    const model = await load(test, name)
    const together = await model.embed(texts)
    equalRows(test, together.values, vectors, 'together')
    if (tokens !== undefined) test.equal(together.tokens, tokens.flat().length, 'the reference has as many tokens')
    for (const [index, text] of texts.entries()) {
      const { values } = await model.embed([text])
      equalRows(test, values, [vectors[index] as readonly number[]], `text ${index}`)
    }
    if (tokens !== undefined) {
      const given = tokens.filter(ids => ids.length > 0)
      const { values } = await model.embed(given)
      equalRows(
        test,
        values,
        vectors.filter((_, index) => tokens[index]?.length),
        'from token ids'
      )
    }
  })
  if (query === undefined || passage === undefined) continue
  t.test(`${name}: texts of a role get its prompt`, async test => {
    const model = await load(test, name)
    const some = texts.slice(0, query.length)
    equalRows(test, (await model.embed(some, { role: 'query' })).values, query, 'queries')
    equalRows(test, (await model.embed(some, { role: 'document' })).values, passage, 'documents')
  })
}

for (const name of Object.keys(expected).filter(each => each.includes('reranker'))) {
  t.test(`${name}: scores equal the reference, truncated pairs too`, async test => {
    const { pairs, scores } = expected[name] as Reference
    const model = await load(test, name)
    for (const [index, [query, document]] of pairs.entries()) {
      const ranked = await model.rank(query, [document, document], { truncate: true })
      equalRows(test, ranked.scores, [[scores[index] as number, scores[index] as number]], `pair ${index}`)
    }
    const [query] = pairs[0] as readonly [string, string]
    const same = pairs.filter(pair => pair[0] === query)
    const ranked = await model.rank(
      query,
      same.map(([, document]) => document)
    )
    equalRows(test, ranked.scores, [scores.slice(0, same.length)], 'in one batch')
  })
}
