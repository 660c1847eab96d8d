import type { GenerateRequest } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { PromptLookup, RunCosts, Speculation } from '#batching'
import { collect, greedy, loadModel } from '../support/models.ts'

function costs(single: number, further: number): RunCosts {
  const known = new RunCosts()
  for (let i = 0; i < 3; i++) for (const tokens of [1, 2, 5]) known.observe(tokens, single + further * (tokens - 1))
  return known
}

t.test('drafts the tokens that followed the last occurrence of the latest n-gram', async t => {
  const tokens = [1, 2, 3, 4, 5, 9, 2, 3]
  const lookup = new PromptLookup(tokens)
  t.same(lookup.draft(2), [4, 5])
  tokens.push(7)
  t.same(lookup.draft(4), [])
  tokens.push(8, 2, 3)
  t.same(lookup.draft(3), [7, 8, 2])
  t.same(new PromptLookup([1]).draft(3), [])
})

t.test('a longer n-gram takes precedence over a later occurrence', async t => {
  t.same(new PromptLookup([1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3]).draft(1), [7])
})

t.test('a repetition is assumed to continue', async t => {
  t.same(new PromptLookup([1, 2, 3, 1, 2, 3]).draft(7), [1, 2, 3, 1, 2, 3, 1])
  t.same(new PromptLookup([4, 4, 4]).draft(4), [4, 4, 4, 4])
})

t.test('hash collisions of large token ids do not affect drafts', async () => {
  const tokens = fc.array(fc.oneof(fc.nat(2), fc.constantFrom(131_070, 131_071, 131_072, 262_143)), { maxLength: 60 })
  fc.assert(
    fc.property(tokens, fc.integer({ min: 1, max: 6 }), (all, count) => {
      const grown: number[] = []
      const lookup = new PromptLookup(grown)
      return all.every(token => {
        grown.push(token)
        const [guess] = lookup.draft(count)
        const [before, last] = grown.slice(-2)
        return (
          guess === undefined ||
          grown.some((one, i) => i >= 2 && one === guess && grown[i - 1] === last && grown[i - 2] === before)
        )
      })
    })
  )
})

t.test('drafts grow while they are accepted', async t => {
  const tokens = Array.from({ length: 400 }, (_, i) => i % 3)
  const speculation = new Speculation(tokens, costs(10, 2), 8)
  const first = speculation.draft(100).length
  for (let i = 0; i < 20; i++) speculation.settle(4, 4)
  t.ok(first < 8)
  t.equal(speculation.draft(100).length, 8)
  t.equal(speculation.draft(3).length, 3)
  t.equal(speculation.draft(0).length, 0)
})

t.test('stops drafting while drafts are rejected, except for occasional attempts', async t => {
  const speculation = new Speculation([1, 2, 1, 2, 1, 2], costs(10, 2), 8)
  let drafted = 0
  for (let step = 0; step < 1000; step++) {
    const { length } = speculation.draft(100)
    if (length > 0) speculation.settle(length, 0)
    drafted += length
  }
  t.ok(drafted > 10)
  t.ok(drafted < 100, `${drafted} tokens were drafted in 1000 steps`)
})

t.test('drafts almost nothing if each additional token costs as much as a single-token run', async t => {
  const speculation = new Speculation([1, 2, 1, 2, 1, 2], costs(10, 10), 8)
  let drafted = 0
  for (let step = 0; step < 100; step++) drafted += speculation.draft(100).length
  t.ok(drafted <= 4)
})

t.test('drafts nothing before the cost of a token is measured', async t => {
  t.same(new Speculation([1, 2, 1, 2, 1, 2], new RunCosts(), 8).draft(100), [])
})

const repeating = Array.from({ length: 60 }, (_, i) => 20 + (i % 6))

t.test('speculation does not change the generated tokens', async t => {
  const plain = await loadModel(t, { engine: { speculation: 0 } })
  const guessing = await loadModel(t, { engine: { speculation: 6 } })
  // A bias limits the text to few different tokens, which makes it predictable.
  const few = (...tokens: number[]) => new Map(tokens.map(token => [token, 1000]))
  const requests: GenerateRequest[] = [
    { ...greedy(repeating, 150), sampling: { temperature: 0, logitBias: few(20) } },
    greedy([9, 8], 200),
    { tokens: repeating, maxTokens: 100, sampling: { temperature: 0.3, seed: 4, topK: 5 } },
    { tokens: repeating, maxTokens: 100, ignoreEos: true, sampling: { seed: 4, logitBias: few(20, 21) } },
    { tokens: repeating, maxTokens: 80, ignoreEos: true, sampling: { seed: 4, repeatPenalty: 1.05, repeatLastN: -1 } },
    { tokens: [9, 8], ignoreEos: true, logprobs: 2, sampling: { temperature: 1, seed: 2, logitBias: few(30, 31, 32) } }
  ]
  for (const request of requests) {
    const [wanted, got] = [await collect(plain.generate(request)), await collect(guessing.generate(request))]
    t.same(got.tokens, wanted.tokens)
    t.equal(got.text, wanted.text)
    t.equal(got.done.finishReason, wanted.done.finishReason)
    t.equal(got.done.usage.completionTokens, wanted.done.usage.completionTokens)
  }
  const { draftedTokens, acceptedTokens, decodeRuns, decodedSequences, completionTokens } = guessing.statistics()
  t.ok(acceptedTokens > 0)
  t.ok(draftedTokens >= acceptedTokens)
  t.equal(decodeRuns, decodedSequences)
  t.equal(decodeRuns + acceptedTokens, completionTokens - requests.length)
  t.match(plain.statistics(), { draftedTokens: 0, acceptedTokens: 0, completionTokens })
})

t.test('a stop string ends a sequence inside an accepted draft', async t => {
  const model = await loadModel(t)
  const sampling = { temperature: 0, logitBias: new Map([[40, 1000]]) }
  const request = { ...greedy([9, 8], 100), sampling }
  const whole = await collect(model.generate(request))
  const stop = whole.text.slice(0, 1).repeat(61)
  const { text, done } = await collect(model.generate({ ...request, stop: [stop] }))
  t.equal(text, '')
  t.match(done, { finishReason: 'stop', usage: { completionTokens: 61 } })
  t.ok(model.statistics().acceptedTokens > 0)
})

t.test('rejected drafts are not reused from the cache', async t => {
  const model = await loadModel(t)
  const plain = await loadModel(t, { engine: { speculation: 0 } })
  let tokens = repeating
  for (let turns = 0; turns < 4; turns++) {
    const [got, wanted] = await Promise.all(
      [model, plain].map(each =>
        collect(each.generate({ ...greedy(tokens, 12), sampling: { temperature: 1, seed: turns } }))
      )
    )
    t.same(got?.tokens, wanted?.tokens)
    tokens = [...tokens, ...(got?.tokens ?? []), ...repeating.slice(0, 7)]
  }
})

t.test('drafts nothing while several sequences run', async t => {
  const model = await loadModel(t, { slots: 2 })
  await Promise.all([1, 2].map(last => collect(model.generate(greedy([...repeating, last], 60)))))
  const { draftedTokens, decodeRuns } = model.statistics()
  t.ok(draftedTokens < 20, `${draftedTokens} tokens were drafted in ${decodeRuns} runs`)
})
