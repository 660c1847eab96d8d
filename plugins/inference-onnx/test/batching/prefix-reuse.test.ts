import type { GenerateRequest } from '@svc/contracts'
import t from 'tap'
import { collect, greedy, loadModel } from '../support/models.ts'

const range = (length: number, first = 10) => Array.from({ length }, (_, i) => first + ((i * 7) % 200))

t.test('the next turn of a conversation computes only the new tokens', async t => {
  const model = await loadModel(t)
  const first = range(40)
  const { tokens: answer } = await collect(model.generate(greedy(first, 10)))
  const next = [...first, ...answer, ...range(5, 30)]
  const { done } = await collect(model.generate(greedy(next, 4)))
  // The last token of an answer is sampled, but never computed.
  t.equal(done.usage.cachedTokens, first.length + answer.length - 1)
  t.equal(done.usage.promptTokens, next.length)
  const { promptTokens, cachedPromptTokens, completionTokens } = model.statistics()
  t.same([promptTokens, cachedPromptTokens, completionTokens], [40 + 6, 49, 14])
})

t.test('a fully cached prompt computes only its last token', async t => {
  const model = await loadModel(t)
  const request = greedy(range(30), 6)
  const first = await collect(model.generate(request))
  const second = await collect(model.generate(request))
  t.equal(first.done.usage.cachedTokens, 0)
  t.equal(second.done.usage.cachedTokens, 29)
  t.same(second.tokens, first.tokens)
})

t.test('reusePrefix false computes everything', async t => {
  const model = await loadModel(t, { slots: 2 })
  const request = { ...greedy(range(30), 6), reusePrefix: false }
  for (let i = 0; i < 3; i++) t.equal((await collect(model.generate(request))).done.usage.cachedTokens, 0)
})

t.test('a different prefix is not reused', async t => {
  const model = await loadModel(t)
  await collect(model.generate(greedy([11, ...range(20)], 3)))
  const other = [12, ...range(20)]
  const { done, tokens } = await collect(model.generate(greedy(other, 8)))
  t.equal(done.usage.cachedTokens, 0)
  t.same(tokens, (await collect((await loadModel(t)).generate(greedy(other, 8)))).tokens)
})

t.test('conversations with a common prefix keep separate rows, and new ones copy the prefix', async t => {
  const model = await loadModel(t, { slots: 3 })
  const system = range(10)
  const conversations = [1, 2, 3].map(number => [...system, ...range(20, number)])
  const turn = async (tokens: readonly number[]) =>
    (await collect(model.generate(greedy(tokens, 4)))).done.usage.cachedTokens
  t.equal(await turn(conversations[0]!), 0)
  t.equal(await turn(conversations[1]!), 10)
  t.equal(await turn(conversations[2]!), 10)
  for (const tokens of conversations) t.equal(await turn([...tokens, 5, 6, 7]), 30)
})

t.test('the least recently used row is evicted', async t => {
  const model = await loadModel(t, { slots: 2 })
  const cached = async (tokens: readonly number[]) =>
    (await collect(model.generate(greedy(tokens, 2)))).done.usage.cachedTokens
  await cached(range(20, 1))
  await cached(range(20, 2))
  t.equal(await cached(range(20, 1)), 19)
  t.equal(await cached(range(20, 3)), 0)
  t.equal(await cached(range(20, 1)), 19)
  t.equal(await cached(range(20, 2)), 0)
})

t.test('concurrent prompts with a common prefix compute it once', async t => {
  const model = await loadModel(t, { slots: 4, engine: { promptChunk: 16 } })
  const beginning = range(120)
  const requests: GenerateRequest[] = [1, 2, 3, 4].map(number => greedy([...beginning, number, number + 1], 6))
  const together = await Promise.all(requests.map(request => collect(model.generate(request))))
  const { promptTokens, cachedPromptTokens } = model.statistics()
  t.equal(promptTokens + cachedPromptTokens, 4 * 122)
  t.ok(promptTokens < 122 + 4 * 16, `${promptTokens} tokens were computed`)
  const alone = await loadModel(t)
  for (const [i, request] of requests.entries()) {
    t.same(together[i]?.tokens, (await collect(alone.generate({ ...request, reusePrefix: false }))).tokens)
  }
})

t.test('the computed prefix of a cancelled sequence can be reused', async t => {
  const model = await loadModel(t)
  const abort = new AbortController()
  const { tokens } = await collect(model.generate({ ...greedy(range(25), 50), signal: abort.signal }), count => {
    if (count === 5) abort.abort()
  })
  const { done } = await collect(model.generate(greedy([...range(25), ...tokens, 9], 2)))
  t.ok(done.usage.cachedTokens >= 25, `${done.usage.cachedTokens} tokens were reused`)
})

t.test('logits() computes all positions, even if prefixes are cached', async t => {
  const model = await loadModel(t)
  await collect(model.generate(greedy(range(20), 5)))
  t.equal((await model.logits(range(20))).length, 20)
  t.equal(model.statistics().cachedPromptTokens, 0)
})
