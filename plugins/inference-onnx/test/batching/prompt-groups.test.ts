import type { GenerateRequest, LoadedModel } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { promptsWith, type WaitingPrompt } from '#batching'
import { DecoderSession } from '#root'
import { familyDirectory } from '../support/families.ts'
import { collect, loadModel, openEngine } from '../support/models.ts'

const CHUNK = 256
const range = (length: number, first: number) => Array.from({ length }, (_, i) => 9 + ((first + i * 7) % 200))

function prompt(length: number, first: number, change: Partial<WaitingPrompt> = {}): WaitingPrompt {
  return { tokens: range(length, first), wanted: 'last', weights: null, reusePrefix: true, ...change }
}

const group = (prompts: readonly WaitingPrompt[]) => {
  const [first, ...others] = prompts as [WaitingPrompt, ...WaitingPrompt[]]
  return [first, ...promptsWith(first, others, { chunk: CHUNK, promptOf: each => each })]
}

t.test('prompts of one run fit into a chunk, have similar lengths, and no common beginning', async t => {
  const prompts = fc.array(
    fc.record({
      length: fc.integer({ min: 1, max: 300 }),
      first: fc.integer({ min: 0, max: 6 }),
      wanted: fc.constantFrom('last' as const, 'last' as const, 'all' as const),
      reusePrefix: fc.boolean(),
      maxChunk: fc.constantFrom(undefined, 20)
    }),
    { minLength: 1, maxLength: 20 }
  )
  fc.assert(
    fc.property(prompts, all => {
      const made = all.map(({ length, first, wanted, reusePrefix, maxChunk }) =>
        prompt(length, first, { wanted, reusePrefix, ...(maxChunk === undefined ? {} : { maxChunk }) })
      )
      const chosen = group(made)
      const lengths = chosen.map(({ tokens }) => tokens.length)
      if (chosen.length === 1) return
      const padded = chosen.length * Math.max(...lengths)
      t.ok(padded <= CHUNK && padded - lengths.reduce((a, b) => a + b) <= 8 * (chosen.length - 1))
      for (const [i, { tokens, wanted, reusePrefix, maxChunk = CHUNK }] of chosen.entries()) {
        t.ok(wanted === 'last' && tokens.length <= maxChunk)
        const copies = chosen.slice(0, i).some(each => reusePrefix && each.tokens[0] === tokens[0])
        t.notOk(copies && tokens.length >= 16 && lengths.slice(0, i).every(length => length >= 16))
      }
    })
  )
})

t.test('short prompts of similar length share a run; a much longer one, and one with the same beginning, do not', t => {
  const [a, b, c] = [prompt(60, 1), prompt(64, 2), prompt(62, 3)]
  t.same(group([a, b, prompt(140, 4), c, prompt(61, 1)]), [a, b, c])
  t.same(group([a, prompt(61, 1, { reusePrefix: false })]).length, 2)
  t.same(group([a, prompt(61, 1, { weights: {} })]).length, 2, 'other weights have other keys and values')
  t.end()
})

/** Records the number of prompts of each run. */
function recordRuns(t: { teardown(run: () => void): void }): number[] {
  const runs: number[] = []
  const { run } = DecoderSession.prototype
  DecoderSession.prototype.run = function (options) {
    if (options.spans.some(({ tokens }) => tokens.length > 1)) runs.push(options.spans.length)
    return run.call(this, options)
  }
  t.teardown(() => {
    DecoderSession.prototype.run = run
  })
  return runs
}

async function probabilities(model: LoadedModel, request: GenerateRequest) {
  const tokens: number[] = []
  const values: number[] = []
  for await (const event of model.generate({ ...request, logprobs: 3 })) {
    if (event.type !== 'text') continue
    tokens.push(...event.tokens)
    for (const { top } of event.logprobs ?? []) values.push(...top.map(({ logprob }) => logprob))
  }
  return { tokens, values }
}

const request = (tokens: readonly number[], maxTokens: number): GenerateRequest => ({
  tokens,
  maxTokens,
  ignoreEos: true,
  sampling: { temperature: 0 },
  reusePrefix: false
})

t.test('prompts that are read in one run have the log probabilities that they have separately, to 1e-5', async t => {
  const runs = recordRuns(t)
  const model = await loadModel(t, { slots: 6, engine: { speculation: 0, promptChunk: 64 } })
  const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 6 })
  let largest = 0
  const property = fc.asyncProperty(lengths, fc.nat(100), async (all, first) => {
    const requests = all.map((length, i) => request(range(length, first + i), 4))
    const together = await Promise.all(requests.map(each => probabilities(model, each)))
    for (const [i, each] of requests.entries()) {
      const { tokens, values } = await probabilities(model, each)
      t.same(together[i]?.tokens, tokens)
      for (const [at, value] of values.entries()) {
        largest = Math.max(largest, Math.abs(value - (together[i]?.values[at] ?? Number.NaN)))
      }
    }
  })
  await fc.assert(property, { numRuns: 20 })
  t.ok(largest < 1e-5, `largest difference ${largest}`)
  t.ok(Math.max(...runs) > 2, 'some prompts were read together')
})

for (const name of ['mistral', 'gemma2', 'gemma3', 'phi3', 'qwen3', 'qwen3_5']) {
  t.test(`prompts of different lengths at the same time give the same results as separately (${name})`, async t => {
    const runs = recordRuns(t)
    const engine = await openEngine(t, { speculation: 0 })
    const model = await engine.load({ runDirectory: await familyDirectory(t, name), slots: 4, maxContext: 64 })
    t.teardown(() => model.close())
    const requests = [21, 17, 24, 19].map((length, i) => request(range(length, i), 12))
    const together = await Promise.all(requests.map(each => collect(model.generate(each))))
    t.equal(Math.max(...runs) > 1, name !== 'qwen3_5', 'linear attention reads one prompt a run, others read several')
    for (const [i, each] of requests.entries())
      t.same(together[i]?.tokens, (await collect(model.generate(each))).tokens)
  })
}

for (const quantization of ['q8', 'q4'] as const) {
  t.test(`prompts in one run give the same results as separately (${quantization})`, async t => {
    const model = await loadModel(t, { slots: 4, quantization, engine: { speculation: 0 } })
    const requests = [14, 9, 12, 16].map((length, i) => request(range(length, i), 12))
    const together = await Promise.all(requests.map(each => collect(model.generate(each))))
    for (const [i, each] of requests.entries())
      t.same(together[i]?.tokens, (await collect(model.generate(each))).tokens)
  })
}

t.test('an aborted prompt does not affect the others of its run', async t => {
  const model = await loadModel(t, { slots: 3, engine: { speculation: 0 } })
  const abort = new AbortController()
  const requests = [20, 22].map((length, i) => request(range(length, i), 8))
  const aborted = collect(model.generate({ ...request(range(21, 5), 8), signal: abort.signal }))
  const others = requests.map(each => collect(model.generate(each)))
  abort.abort()
  t.equal((await aborted).done.finishReason, 'cancelled')
  for (const [i, each] of requests.entries()) {
    t.same((await others[i])?.tokens, (await collect(model.generate(each))).tokens)
  }
})
