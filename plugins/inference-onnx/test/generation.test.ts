import type { GenerateEvent, GenerateRequest } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { collect, greedy, loadModel, readExpected } from './support/models.ts'

const prompts = async () => (await readExpected('llama-tiny-bf16')).prompts.map(prompt => prompt.tokens)

/** Returns the number of event loop turns until a promise settles. */
async function turnsUntil(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let running = true
  const finished = work.finally(() => {
    running = false
  })
  while (running) {
    await new Promise(resolve => setImmediate(resolve))
    turns++
  }
  await finished
  return turns
}

t.test('the final event contains the finish reason and the usage', async t => {
  const model = await loadModel(t)
  const [tokens = []] = await prompts()
  const { done } = await collect(model.generate(greedy(tokens, 5)))
  t.match(done, { finishReason: 'length', usage: { promptTokens: tokens.length, completionTokens: 5 } })
  t.ok(done.usage.promptNs > 0)
  t.ok(done.usage.completionNs > 0)
})

t.test('an end token stops the sequence and is not part of it', async t => {
  const model = await loadModel(t, { name: 'qwen2-tiny' })
  const end = 0
  const request = { tokens: [5, 6], sampling: { temperature: 0, logitBias: new Map([[end, 1000]]) } }
  const stopped = await collect(model.generate(request))
  t.match(stopped, { text: '', tokens: [], done: { finishReason: 'stop', usage: { completionTokens: 1 } } })
  const ignored = await collect(model.generate({ ...request, ignoreEos: true, maxTokens: 3 }))
  t.match(ignored, { text: '', tokens: [end, end, end], done: { finishReason: 'length' } })
})

t.test('the text ends before a stop string, even if the string spans several tokens', async t => {
  const model = await loadModel(t)
  const [tokens = []] = await prompts()
  const whole = await collect(model.generate(greedy(tokens, 20)))
  for (let start = 1; start < whole.text.length - 3; start += 2) {
    const stop = whole.text.slice(start, start + 3)
    const { text, done } = await collect(model.generate({ ...greedy(tokens, 20), stop: ['never seen', stop] }))
    t.equal(text, whole.text.slice(0, whole.text.indexOf(stop)))
    t.equal(done.finishReason, 'stop')
    t.ok(done.usage.completionTokens <= 20)
  }
})

t.test('pieces contain whole characters, and join to the text of the tokens', async t => {
  const model = await loadModel(t)
  const { pieces, text, tokens } = await collect(
    model.generate({ tokens: [5, 6, 7], maxTokens: 60, ignoreEos: true, sampling: { temperature: 3, seed: 11 } })
  )
  t.equal(pieces.join(''), text)
  t.equal(tokens.length, 60)
  const visible = tokens.filter(token => token > 2)
  t.equal(text, model.detokenize(visible))
})

t.test('equal seeds produce equal text, and different seeds different text', async t => {
  const model = await loadModel(t)
  const run = async (seed: number) =>
    (
      await collect(
        model.generate({ tokens: [9, 8], maxTokens: 30, ignoreEos: true, sampling: { temperature: 1, seed } })
      )
    ).tokens
  t.same(await run(7), await run(7))
  t.notSame(await run(7), await run(8))
})

t.test('requests without a seed produce different text each time', async t => {
  const model = await loadModel(t)
  const request = { tokens: [9, 8], maxTokens: 30, ignoreEos: true, sampling: { temperature: 2 } }
  const [first, second] = [await collect(model.generate(request)), await collect(model.generate(request))]
  t.notSame(first?.tokens, second?.tokens)
})

t.test('the chunk size does not change the result of a prompt', async t => {
  const [long = []] = (await prompts()).sort((a, b) => b.length - a.length)
  const whole = await loadModel(t)
  const wanted = await collect(whole.generate(greedy(long, 12)))
  const logits = await whole.logits(long)
  for (const promptChunk of [1, 3, 7]) {
    const model = await loadModel(t, { engine: { promptChunk } })
    t.same((await collect(model.generate(greedy(long, 12)))).tokens, wanted.tokens, `chunks of ${promptChunk}`)
    const last = (await model.logits(long)).at(-1)!
    t.ok(last.every((value, i) => Math.abs(value - logits.at(-1)![i]!) < 1e-4))
  }
})

t.test('a cancelled sequence ends within one token', async t => {
  const model = await loadModel(t)
  for (const after of [1, 4]) {
    const abort = new AbortController()
    const request = { ...greedy([9, 8], 100), signal: abort.signal }
    const { tokens, done } = await collect(model.generate(request), count => {
      if (count === after) abort.abort()
    })
    t.equal(done.finishReason, 'cancelled')
    t.ok(tokens.length <= after + 1)
    t.ok(done.usage.completionTokens <= after + 1)
  }
})

t.test('a request can be cancelled while its prompt is read', async t => {
  const model = await loadModel(t, { engine: { promptChunk: 1 } })
  const abort = new AbortController()
  const events = model.generate({ ...greedy(Array(200).fill(9), 10), signal: abort.signal })
  const first = events[Symbol.asyncIterator]().next()
  setImmediate(() => abort.abort())
  t.match(await first, { value: { type: 'done', finishReason: 'cancelled', usage: { completionTokens: 0 } } })
})

t.test('a request that is cancelled before it starts computes nothing', async t => {
  const model = await loadModel(t)
  const { done } = await collect(model.generate({ ...greedy([9], 10), signal: AbortSignal.abort() }))
  t.match(done, { finishReason: 'cancelled', usage: { completionTokens: 0, promptNs: 0 } })
})

t.test('a consumer that stops reading frees its slot', async t => {
  const model = await loadModel(t)
  for await (const event of model.generate(greedy([9, 8], 50))) {
    t.equal(event.type, 'text')
    break
  }
  t.same(model.capacity(), { slots: 1, active: 0, waiting: 0 })
})

t.test('concurrent sequences alternate, and give the same results as separately', async t => {
  const model = await loadModel(t, { slots: 3 })
  const requests: GenerateRequest[] = (await prompts())
    .slice(0, 3)
    .map((tokens, seed) => ({ tokens, maxTokens: 40, ignoreEos: true, sampling: { temperature: 1, seed } }))
  const alone = []
  for (const request of requests) alone.push((await collect(model.generate(request))).tokens)
  const order: number[] = []
  const together = await Promise.all(
    requests.map((request, i) => collect(model.generate(request), () => void order.push(i)))
  )
  t.same(
    together.map(({ tokens }) => tokens),
    alone
  )
  const changes = order.filter((sequence, i) => i > 0 && sequence !== order[i - 1]).length
  t.ok(changes > order.length / 3, `${changes} alternations in ${order.length} pieces`)
})

t.test('requests wait for a slot in order; if the queue is full, they are rejected', async t => {
  const model = await loadModel(t, { engine: { maxWaiting: 2 } })
  const order: string[] = []
  const run = async (name: string) => {
    await collect(model.generate(greedy([9, 8], 5)))
    order.push(name)
  }
  const running = ['a', 'b', 'c'].map(run)
  await new Promise(resolve => setImmediate(resolve))
  t.same(model.capacity(), { slots: 1, active: 1, waiting: 2 })
  await t.rejects(run('d'), { code: 'INF_BUSY', data: { slots: 1, waiting: 2 } })
  await Promise.all(running)
  t.same(order, ['a', 'b', 'c'])
  t.same(model.capacity(), { slots: 1, active: 0, waiting: 0 })
})

t.test('many concurrent and sequential requests leak no resources', async t => {
  const warnings: Error[] = []
  const listen = (warning: Error) => void warnings.push(warning)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  const model = await loadModel(t, { slots: 2 })
  const request = () => ({ ...greedy([9, 8], 2), signal: new AbortController().signal })
  await Promise.all(Array.from({ length: 40 }, () => collect(model.generate(request()))))
  for (let i = 0; i < 15; i++) await model.logits([9, 8])
  await Promise.all(Array.from({ length: 15 }, () => model.logits([9, 8])))
  t.same(model.capacity(), { slots: 2, active: 0, waiting: 0 })
  await new Promise(resolve => setImmediate(resolve))
  t.same(warnings, [])
})

t.test('a queued request can be cancelled', async t => {
  const model = await loadModel(t)
  const first = collect(model.generate(greedy([9, 8], 20)))
  const abort = new AbortController()
  const second = collect(model.generate({ ...greedy([9, 8], 20), signal: abort.signal }))
  await new Promise(resolve => setImmediate(resolve))
  abort.abort()
  t.equal((await second).done.finishReason, 'cancelled')
  t.equal((await first).done.finishReason, 'length')
  t.equal(model.capacity().waiting, 0)
})

t.test('a prompt that does not fit is rejected before any event, with its length and the limit', async t => {
  const model = await loadModel(t, { maxContext: 32 })
  t.equal(model.info.contextLength, 32)
  await t.rejects(collect(model.generate({ tokens: Array(32).fill(5) })), {
    code: 'INF_CONTEXT_EXCEEDED',
    status: 400,
    message: /32 tokens; the context holds 32/,
    data: { promptTokens: 32, contextLength: 32 }
  })
  const { done } = await collect(model.generate({ ...greedy(Array(31).fill(5), 100) }))
  t.match(done, { finishReason: 'length', usage: { completionTokens: 1 } })
  await t.rejects(model.logits(Array(33).fill(5)), { code: 'INF_CONTEXT_EXCEEDED' })
  t.equal((await model.logits(Array(32).fill(5))).length, 32)
})

t.test("maxContext cannot exceed the model's context", async t => {
  const model = await loadModel(t, { maxContext: 100_000 })
  t.equal(model.info.contextLength, 256)
})

t.test('the whole context can be filled', async t => {
  const model = await loadModel(t, { maxContext: 48 })
  const { done } = await collect(model.generate({ tokens: [5, 6], ignoreEos: true, sampling: { temperature: 0 } }))
  t.match(done, { finishReason: 'length', usage: { promptTokens: 2, completionTokens: 46 } })
})

for (const [what, request] of [
  ['an empty prompt', { tokens: [] }],
  ['a token outside the vocabulary', { tokens: [5, 300] }],
  ['a token that is not an integer', { tokens: [1.5] }],
  ['a negative temperature', { tokens: [5], sampling: { temperature: -1 } }],
  ['a temperature that is not a number', { tokens: [5], sampling: { temperature: Number.NaN } }],
  ['a top-p above 1', { tokens: [5], sampling: { topP: 1.1 } }],
  ['a fractional top-k', { tokens: [5], sampling: { topK: 0.5 } }],
  ['a bias for an unknown token', { tokens: [5], sampling: { logitBias: new Map([[300, 1]]) } }],
  ['a negative token limit', { tokens: [5], maxTokens: -1 }]
] as const) {
  t.test(`${what} is rejected, and the slot stays free`, async t => {
    const model = await loadModel(t)
    await t.rejects(collect(model.generate(request)), { code: 'INF_OPTION_INVALID', status: 400, at: { path: String } })
    t.equal(model.capacity().active, 0)
  })
}

t.test('logprobs describe the chosen token and its alternatives, without temperature and bias', async t => {
  const model = await loadModel(t)
  const tokens = [9, 8]
  const [, row] = await model.logits(tokens)
  const sampling = { temperature: 5, seed: 3, logitBias: new Map([[20, 50]]) }
  const request = { tokens, maxTokens: 1, ignoreEos: true, sampling, logprobs: 3 }
  const events: GenerateEvent[] = []
  for await (const event of model.generate(request)) events.push(event)
  const [piece] = events
  if (piece?.type !== 'text') return t.fail('no text was generated')
  const [reported] = piece.logprobs ?? []
  const sum = Math.log(row!.reduce((total, value) => total + Math.exp(value), 0))
  t.equal(reported?.token, 20)
  t.ok(Math.abs(reported!.logprob - (row![20]! - sum)) < 1e-3)
  t.equal(reported?.top.length, 3)
  t.ok(reported!.top[0]!.logprob > reported!.logprob)
  t.equal(reported?.text, model.detokenize([20]))
  const silent = await model
    .generate({ ...request, logprobs: 0 })
    [Symbol.asyncIterator]()
    .next()
  t.match(silent.value, { logprobs: [{ top: [] }] })
})

t.test('generates text with any valid options', async t => {
  const model = await loadModel(t)
  const sampling = fc.record(
    {
      temperature: fc.double({ min: 0, max: 5, noNaN: true }),
      topK: fc.nat(400),
      topP: fc.double({ min: 0, max: 1, noNaN: true }),
      minP: fc.double({ min: 0, max: 1, noNaN: true }),
      repeatPenalty: fc.double({ min: 0.1, max: 3, noNaN: true }),
      presencePenalty: fc.double({ min: -2, max: 2, noNaN: true }),
      frequencyPenalty: fc.double({ min: -2, max: 2, noNaN: true }),
      repeatLastN: fc.integer({ min: -1, max: 100 }),
      seed: fc.integer()
    },
    { requiredKeys: [] }
  )
  await t.resolves(
    fc.assert(
      fc.asyncProperty(sampling, async options => {
        const { tokens } = await collect(
          model.generate({ tokens: [9, 8], maxTokens: 4, ignoreEos: true, sampling: options })
        )
        return tokens.length === 4
      }),
      { numRuns: 30 }
    )
  )
})

t.test('prompts and tokens are computed without blocking the event loop', async t => {
  const model = await loadModel(t, { name: '../../../model-server/models/vox-tiny' })
  const long = Array.from({ length: 256 }, (_, i) => 10 + i)
  const reading = await turnsUntil(collect(model.generate(greedy(long, 1))))
  t.ok(reading > 20, `${reading} turns during one run`)
  const generating = await turnsUntil(collect(model.generate(greedy([9, 8], 32))))
  t.ok(generating > 64, `${generating} turns during 32 tokens`)
})

t.test('closing a model ends running and queued sequences, and new ones are rejected', async t => {
  const model = await loadModel(t)
  const running = collect(model.generate(greedy([9, 8], 200)), async count => {
    if (count === 3) await model.close()
  })
  const waiting = collect(model.generate(greedy([9, 8], 200)))
  t.equal((await running).done.finishReason, 'cancelled')
  t.equal((await waiting).done.finishReason, 'cancelled')
  await t.rejects(collect(model.generate(greedy([9], 1))), { code: 'INF_MODEL_CLOSED' })
  await t.rejects(model.logits([9]), { code: 'INF_MODEL_CLOSED' })
  await model.close()
})

t.test('closing a model ends pending logits() calls', async t => {
  const model = await loadModel(t)
  const asked = [model.logits([9, 8]), model.logits([7, 6])]
  const closing = model.close()
  for (const each of asked) await t.rejects(each, { code: 'INF_MODEL_CLOSED' })
  await closing
})

t.test('closing a model waits for the current run', async t => {
  const model = await loadModel(t)
  const results = await Promise.all([collect(model.generate(greedy([9, 8], 200))), model.close(), model.close()])
  t.equal(results[0].done.finishReason, 'cancelled')
})
