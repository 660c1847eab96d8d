import { join } from 'node:path'
import './built-worker.ts'
import inference from '@svc/plugin-inference-onnx'
import fc from 'fast-check'
import t from 'tap'
import { indexOperation, queryOperation, ScanThread, stateOperation, VectorIndex } from '#root'
import { cosine } from '#score'
import { openSearch } from './open-search.ts'

const FIXTURES = join(import.meta.dirname, '../../inference-onnx/test/fixtures/embeddings')

function opened(t: { teardown(end: () => Promise<void>): void }, dimensions: number): VectorIndex {
  const thread = new ScanThread()
  t.teardown(() => thread.close())
  return new VectorIndex(dimensions, thread)
}

t.test('the index returns what a comparison with each vector returns, after any changes', async t => {
  const vector = fc.array(fc.integer({ min: -8, max: 8 }), { minLength: 5, maxLength: 5 })
  const change = fc.oneof(
    fc.record({ id: fc.integer({ min: 1, max: 30 }), vector }),
    fc.record({ id: fc.integer({ min: 1, max: 30 }), vector: fc.constant(null) })
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { maxLength: 80 }),
      vector,
      fc.integer({ min: 1, max: 12 }),
      async (changes, asked, k) => {
        const index = opened({ teardown: () => undefined }, 5)
        const model = new Map<number, Float32Array>()
        for (const { id, vector } of changes) {
          const isZero = vector?.every(value => value === 0) === true
          if (vector === null || isZero) {
            if (vector === null && index.delete(id) !== model.delete(id)) return false
            if (isZero && index.set(id, new Float32Array(5))) return false
          } else {
            const floats = Float32Array.from(vector)
            model.set(id, floats)
            if (!index.set(id, floats)) return false
          }
        }
        const query = Float32Array.from(asked)
        const expected = asked.every(value => value === 0)
          ? []
          : [...model.values()]
              .map(each => cosine(query, each))
              .sort((a, b) => b - a)
              .slice(0, k)
        const found = await index.search(query, k)
        return (
          index.size === model.size &&
          found.length === expected.length &&
          found.every(
            ({ id, similarity }, at) =>
              Math.abs(similarity - (expected[at] as number)) < 1e-5 &&
              Math.abs(similarity - cosine(query, model.get(id) as Float32Array)) < 1e-5
          )
        )
      }
    ),
    { numRuns: 200 }
  )
  t.pass()
})

t.test('vectors of another length, with NaN or without direction are refused and change nothing', async t => {
  const index = opened(t, 3)
  t.equal(index.set(1, Float32Array.of(1, 0, 0)), true)
  t.equal(index.set(1, Float32Array.of(1, 0)), false)
  t.equal(index.set(1, Float32Array.of(0, Number.NaN, 1)), false)
  t.equal(index.set(2, Float32Array.of(Number.POSITIVE_INFINITY, 0, 0)), false)
  t.equal(index.set(2, Float32Array.of(0, 0, 0)), false)
  t.same(await index.search(Float32Array.of(2, 0, 0), 5), [{ id: 1, similarity: 1 }])
  await t.rejects(index.search(Float32Array.of(1), 5), RangeError)
  await t.rejects(index.search(Float32Array.of(1, Number.NaN, 0), 5), RangeError)
})

t.test('many vectors are compared in a thread, while vectors are changed', async t => {
  const [dimensions, count] = [64, 20_000]
  const index = opened(t, dimensions)
  let seed = 1
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647 - 0.5
  }
  const vectors = Array.from({ length: count }, () => Float32Array.from({ length: dimensions }, random))
  for (const [at, vector] of vectors.entries()) index.set(at + 1, vector)
  const query = Float32Array.from({ length: dimensions }, random)
  const best = vectors
    .map((vector, at) => ({ id: at + 1, similarity: cosine(query, vector) }))
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, 10)
  const running = index.search(query, 10)
  const [first] = best
  index.delete(first?.id ?? 0)
  for (let id = count + 1; id <= count + 100; id++) index.set(id, Float32Array.from({ length: dimensions }, random))
  // The removed vector may be missing from the result; all others are there, and none has another's similarity.
  const found = new Map((await running).map(({ id, similarity }) => [id, similarity]))
  t.notOk(found.has(first?.id ?? 0))
  for (const { id, similarity } of best.slice(1))
    if (found.has(id)) t.ok(Math.abs((found.get(id) ?? 0) - similarity) < 1e-5)
  t.ok(found.size >= 9)
  index.set(first?.id ?? 0, vectors[(first?.id ?? 0) - 1] as Float32Array)
  t.equal((await index.search(query, 1))[0]?.id, first?.id)
})

t.test('a thread that ends fails its own comparisons, not those of the next one', async t => {
  const thread = new ScanThread()
  t.teardown(() => thread.close())
  const values = new Float32Array(new SharedArrayBuffer(8))
  values.set([1, 0])
  const block = { values, dimensions: 2, rows: 1 }
  const query = Float32Array.from([1, 0])
  const first = t.rejects(thread.scan(block, query, 1), { code: 'SRH_INDEX_THREAD_ENDED' })
  const closed = thread.close()
  t.same(await thread.scan(block, query, 1), [{ row: 0, similarity: 1 }])
  await Promise.all([first, closed])
})

t.test('passages get vectors from the model of the settings, once, and are found by them', async t => {
  const { kernel, write } = await openSearch(t, {
    plugins: [inference],
    settings: { embedding_folder: join(FIXTURES, 'static') }
  })
  write({ 'a.md': '# Alpha\n\nwords of the first note', 'b.md': '# Beta\n\nother words' })
  t.match(await kernel.call(indexOperation, {}), { indexed: 2, vectors: 2, vector_problem: null })
  t.match(await kernel.call(indexOperation, {}), { indexed: 0, vectors: 0 })
  t.match(await kernel.call(stateOperation, {}), { vectors: 2 })
  const ask = () =>
    kernel.call(queryOperation, {
      query: 'Alpha\n# Alpha\n\nwords of the first note',
      mode: 'vector',
      corpora: ['document_chunks']
    })
  const [best] = (await ask()).hits
  t.equal(best?.title, 'a.md: Alpha')
  t.ok((best?.score ?? 0) > 1.9999, 'the text with its heading')
  write({ 'a.md': '# Gamma\n\nnothing in common now' })
  t.match(await kernel.call(indexOperation, {}), { indexed: 1, vectors: 1 })
  t.match(await kernel.call(stateOperation, {}), { vectors: 2 })
  t.notOk((await ask()).hits.some(({ title }) => title === 'a.md: Alpha'))
})

t.test('a folder without a model leaves the words, and the report says why there are no vectors', async t => {
  const { kernel, write } = await openSearch(t, { plugins: [inference], settings: { embedding_folder: 'missing' } })
  write({ 'a.md': 'alpha' })
  t.match(await kernel.call(indexOperation, {}), { indexed: 1, vectors: 0, vector_problem: /missing/ })
})

t.test(
  'more than 50,000 vectors are compared by their signs first, and 95 of 100 of the nearest are found',
  async t => {
    const [dimensions, count, topics] = [128, 60_000, 400]
    let seed = 3
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647 - 0.5
    }
    const vector = (spread: number): Float32Array => Float32Array.from({ length: dimensions }, () => random() * spread)
    // Vectors of texts have a common part, and those of one topic are near each other.
    const common = vector(1)
    const centres = Array.from({ length: topics }, () => vector(1))
    const near = (topic: number): Float32Array => {
      const centre = centres[topic % topics] as Float32Array
      return vector(1).map((value, at) => value + (centre[at] as number) + (common[at] as number))
    }
    const vectors = Array.from({ length: count }, (_, at) => near(at))
    const queries = Array.from({ length: 20 }, (_, at) => near(at * 7))
    const exact = opened(t, dimensions)
    const index = opened(t, dimensions)
    for (const [at, each] of vectors.entries()) index.set(at + 1, each)
    // An index of half of the vectors is exact.
    for (const [at, each] of vectors.entries()) if (at < count / 2) exact.set(at + 1, each)
    t.notOk(index.isApproximate, 'exact until the signs are computed')
    await index.search(queries[0] as Float32Array, 10)
    while (!index.isApproximate) await new Promise(resolve => setImmediate(resolve))
    const upper = opened(t, dimensions)
    for (const [at, each] of vectors.entries()) if (at >= count / 2) upper.set(at + 1, each)
    const best = async (query: Float32Array) =>
      [...(await exact.search(query, 10)), ...(await upper.search(query, 10))]
        .sort((a, b) => b.similarity - a.similarity)
        .slice(0, 10)
    let [found, wanted] = [0, 0]
    for (const query of queries) {
      const ids = new Set((await index.search(query, 10)).map(({ id }) => id))
      const expected = await best(query)
      wanted += expected.length
      found += expected.filter(({ id }) => ids.has(id)).length
    }
    t.ok(found >= 0.95 * wanted, `${found} of ${wanted}`)
    // Changes count at once.
    const query = queries[1] as Float32Array
    t.equal(index.set(count + 1, query), true)
    t.match(await index.search(query, 1), [{ id: count + 1 }])
    index.delete(count + 1)
    t.notOk((await index.search(query, 10)).some(({ id }) => id === count + 1))
    for (let id = 11; id <= count; id++) index.delete(id)
    t.equal((await index.search(query, 20)).length, 10)
    t.notOk(index.isApproximate, 'few vectors are compared exactly again')
  }
)
