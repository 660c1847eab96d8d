import type { LoadedModel } from '@svc/contracts'
import t, { type Test } from 'tap'
import { familyDirectory } from '../support/families.ts'
import { collect, greedy, loadModel } from '../support/models.ts'

const range = (length: number, first = 10) => Array.from({ length }, (_, i) => first + ((i * 7) % 200))

/** Loads a model with linear attention, whose states cannot be cut back. */
async function load(t: Test, slots = 1, promptChunk = 64): Promise<LoadedModel> {
  const runDirectory = await familyDirectory(t, 'qwen3_5', {
    config: config => ({ ...config, max_position_embeddings: 1024 })
  })
  return loadModel(t, { runDirectory, slots, engine: { promptChunk } })
}

/** Generates with and without reuse. Returns the number of reused tokens. */
async function cached(t: Test, model: LoadedModel, tokens: readonly number[], fresh: LoadedModel): Promise<number> {
  const request = greedy(tokens, 8)
  const { done, tokens: generated } = await collect(model.generate(request))
  t.same(generated, (await collect(fresh.generate({ ...request, reusePrefix: false }))).tokens)
  return done.usage.cachedTokens
}

t.test('the next turn of a conversation continues the states of its row', async t => {
  const [model, fresh] = [await load(t), await load(t)]
  const first = range(40)
  const { tokens: answer } = await collect(model.generate(greedy(first, 10)))
  t.equal(await cached(t, model, [...first, ...answer, ...range(5, 30)], fresh), 49)
})

t.test(
  'a prompt that leaves a row early does not use its states, but saves its own shortly before the end',
  async t => {
    const [model, fresh] = [await load(t), await load(t)]
    const prompt = range(100)
    t.equal(await cached(t, model, prompt, fresh), 0)
    t.equal(await cached(t, model, prompt, fresh), 84, 'the same prompt')
    t.equal(await cached(t, model, [...prompt.slice(0, 90), ...range(20, 3)], fresh), 84, 'another end')
    t.equal(await cached(t, model, [...prompt.slice(0, 60), ...range(30, 5)], fresh), 0, 'no states at that length')
  }
)

t.test('the states at the end of a long common beginning are saved when a second prompt leaves it', async t => {
  const [model, fresh] = [await load(t, 3), await load(t)]
  const system = range(300)
  t.equal(await cached(t, model, [...system, ...range(40, 1)], fresh), 0)
  t.equal(await cached(t, model, [...system, ...range(40, 2)], fresh), 0)
  t.equal(await cached(t, model, [...system, ...range(40, 3)], fresh), 300)
  t.equal(await cached(t, model, [...system, ...range(70, 4)], fresh), 300)
})

t.test(
  'concurrent sequences of different lengths give the same results as separate ones, also with shared rows',
  async t => {
    const [model, fresh] = [await load(t, 3, 16), await load(t)]
    const prompts = [...[90, 33, 7, 64, 120].map((length, i) => range(length, i)), range(90, 0), range(90, 0)]
    const together = await Promise.all(prompts.map(tokens => collect(model.generate(greedy(tokens, 20)))))
    for (const [i, tokens] of prompts.entries()) {
      const alone = await collect(fresh.generate({ ...greedy(tokens, 20), reusePrefix: false }))
      t.same(together[i]?.tokens, alone.tokens, `prompt ${i}`)
    }
  }
)

t.test('after a sequence was aborted, its row does not keep half of a run', async t => {
  const [model, fresh] = [await load(t, 1, 16), await load(t)]
  const tokens = range(200)
  for (const delay of [0, 1, 3]) {
    const abort = new AbortController()
    const sequence = collect(model.generate({ ...greedy(tokens, 100), signal: abort.signal }))
    setTimeout(() => abort.abort(), delay)
    await sequence.catch(() => undefined)
    await cached(t, model, tokens, fresh)
  }
})

t.test('an adapter and the base model do not share states', async t => {
  const model = await load(t, 2)
  await model.adapters?.add({
    name: 'linear',
    directory: new URL('../fixtures/peft/linear', import.meta.url).pathname
  })
  const tokens = range(100)
  for (const adapter of ['linear', null, 'linear', null]) {
    const request = { ...greedy(tokens, 8), adapter }
    const { tokens: reused } = await collect(model.generate(request))
    t.same(reused, (await collect(model.generate({ ...request, reusePrefix: false }))).tokens)
  }
})
