import { setImmediate as turn } from 'node:timers/promises'
import type { GenerateRequest, LoadedModel } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { CachePool } from '#batching'
import { NativeRuntime } from '#ort'
import { collect, greedy, loadModel } from '../support/models.ts'

const bundled = '../../../model-server/models/vox-tiny'
const range = (length: number, first = 10) => Array.from({ length }, (_, i) => first + ((i * 7) % 200))

function sampled(tokens: readonly number[], maxTokens: number, seed: number): GenerateRequest {
  return { tokens, maxTokens, ignoreEos: true, sampling: { temperature: 1, seed } }
}

async function alone(model: LoadedModel, request: GenerateRequest): Promise<readonly number[]> {
  return (await collect(model.generate({ ...request, reusePrefix: false }))).tokens
}

t.test('sequences of different lengths give the same results in one run as separately', async t => {
  const model = await loadModel(t, { slots: 6 })
  const requests = [3, 50, 17, 120, 1, 80].map((length, seed) => sampled(range(length, seed), 40, seed))
  const together = await Promise.all(requests.map(request => collect(model.generate(request))))
  const { decodeRuns, decodedSequences } = model.statistics()
  t.equal(decodedSequences, 6 * 39)
  t.ok(decodedSequences / decodeRuns > 4, `${decodedSequences} tokens in ${decodeRuns} runs`)
  for (const [i, request] of requests.entries()) t.same(together[i]?.tokens, await alone(model, request))
})

t.test('sequences that start or end do not affect the others', async t => {
  const model = await loadModel(t, { slots: 4 })
  const requests = [60, 5, 33, 12, 25, 3, 44].map((length, i) =>
    sampled(range(length, 3 * i), [50, 4, 20, 9, 31, 2, 15][i]!, i)
  )
  const results = await Promise.all(
    requests.map(async (request, i) => {
      for (let turns = 0; turns < 15 * i; turns++) await turn()
      return collect(model.generate(request))
    })
  )
  for (const [i, request] of requests.entries()) t.same(results[i]?.tokens, await alone(model, request))
})

t.test('a cancelled sequence does not affect the others in its run', async t => {
  const model = await loadModel(t, { slots: 3 })
  const abort = new AbortController()
  const kept = [sampled(range(9), 40, 1), sampled(range(30, 4), 40, 2)]
  const [one, two, three] = await Promise.all([
    collect(model.generate(kept[0]!)),
    collect(model.generate({ ...sampled(range(20, 9), 200, 3), signal: abort.signal }), count => {
      if (count === 6) abort.abort()
    }),
    collect(model.generate(kept[1]!))
  ])
  t.equal(two.done.finishReason, 'cancelled')
  t.same(one.tokens, await alone(model, kept[0]!))
  t.same(three.tokens, await alone(model, kept[1]!))
})

t.test('a consumer that does not read its events does not block others', async t => {
  const model = await loadModel(t, { slots: 2 })
  const idle = model.generate(greedy([9, 8], 200))[Symbol.asyncIterator]()
  t.equal((await idle.next()).value?.type, 'text')
  t.equal((await collect(model.generate(greedy([7, 6], 100)))).done.finishReason, 'length')
  const { completionTokens } = model.statistics()
  t.ok(completionTokens < 100 + 50, `${completionTokens} tokens were computed`)
  let last: unknown
  let tokens = 1
  for (let next = await idle.next(); next.done !== true; next = await idle.next()) {
    last = next.value
    if (next.value.type === 'text') tokens += next.value.tokens.length
  }
  t.match(last, { type: 'done', finishReason: 'length', usage: { completionTokens: 200 } })
  t.ok(tokens > 150)
})

t.test('other sequences continue while a long prompt is read', async t => {
  const model = await loadModel(t, { slots: 2, engine: { promptChunk: 8 } })
  const running = collect(model.generate(greedy([9, 8], 120)))
  while (model.statistics().completionTokens < 3) await turn()
  const before = model.statistics().completionTokens
  await collect(model.generate(greedy(range(160), 1)))
  const between = model.statistics().completionTokens - before
  t.ok(between >= 160 / 8, `${between} tokens while 20 chunks were read`)
  await running
})

t.test('a short prompt does not wait for a long one', async t => {
  const model = await loadModel(t, { slots: 2, engine: { promptChunk: 8 } })
  const order: string[] = []
  const run = async (name: string, tokens: readonly number[]) => {
    await collect(model.generate(greedy(tokens, 1)))
    order.push(name)
  }
  await Promise.all([run('long', range(200)), run('short', range(10, 50))])
  t.same(order, ['short', 'long'])
})

t.test('a client that floods the queue gives way to other clients', async t => {
  const model = await loadModel(t, { engine: { maxWaiting: 3 } })
  const order: string[] = []
  const run = async (client: string) => {
    await collect(model.generate({ ...greedy([9, 8], 3), client }))
    order.push(client)
  }
  const running = ['a', 'a', 'a'].map(run)
  const last = run('a')
  const other = run('b')
  await t.rejects(last, { code: 'INF_BUSY' })
  await Promise.all([...running, other])
  t.same(order, ['a', 'a', 'b', 'a'])
})

for (const runtime of ['native', 'worker'] as const) {
  t.test(`rows that outgrow their first capacity at different times keep all texts (${runtime} runtime)`, async t => {
    const load = { name: bundled, engine: { runtime, speculation: 0 } }
    const [model, oracle] = [await loadModel(t, { ...load, slots: 3 }), await loadModel(t, { name: bundled })]
    const requests = [505, 3, 509, 40].map((length, seed) => sampled(range(length, seed), [16, 30, 8, 5][seed]!, seed))
    const together = await Promise.all(requests.map(request => collect(model.generate(request))))
    for (const [i, request] of requests.entries()) t.same(together[i]?.tokens, await alone(oracle, request))
  })
}

t.test('the cache grows with the used context, and keeps its contents', async t => {
  const model = await loadModel(t, { name: bundled, slots: 2 })
  const long = range(500)
  const small = model.statistics().cacheBytes
  const { tokens } = await collect(model.generate(greedy(long, 40)))
  const first = model.statistics()
  t.ok(small < first.cacheBytes)
  t.equal(first.cachePositions, 2 * model.info.contextLength)
  t.equal(first.cachePositionsUsed, 539)
  const { done } = await collect(model.generate(greedy([...long, ...tokens, ...range(200)], 3)))
  t.equal(done.usage.cachedTokens, 539)
  t.same(tokens, await alone(await loadModel(t, { name: bundled }), greedy(long, 40)))
})

t.test('a cache that cannot grow fails only the sequence that needs it', async t => {
  const model = await loadModel(t, { slots: 2 })
  const { state } = NativeRuntime.prototype
  NativeRuntime.prototype.state = () => Promise.reject(new Error('the system has no memory'))
  try {
    await t.rejects(collect(model.generate(greedy([9, 8], 3))), { code: 'INF_OUT_OF_MEMORY', data: { slots: 2 } })
  } finally {
    NativeRuntime.prototype.state = state
  }
  t.equal(model.capacity().active, 0)
  t.equal((await collect(model.generate(greedy([9, 8], 3)))).tokens.length, 3)
})

t.test('a failed swap fails the sequences of the run; others in the lost rows are read again', async t => {
  const model = await loadModel(t, { slots: 3 })
  const idle = model.generate(greedy([9, 8], 60))[Symbol.asyncIterator]()
  const got: number[] = []
  const take = async () => {
    const { value } = await idle.next()
    if (value?.type === 'text') got.push(...value.tokens)
    return value?.type
  }
  const before = collect(model.generate(greedy(range(9), 220)))
  await take()
  // The consumer pauses, so that the idle row lies between the rows of the two active sequences.
  while (model.statistics().completionTokens < 60) await turn()
  const { swap } = CachePool.prototype
  CachePool.prototype.swap = () => Promise.reject(new Error('the device is full'))
  t.teardown(() => {
    CachePool.prototype.swap = swap
  })
  const behind = collect(model.generate(greedy(range(20, 4), 50)))
  await Promise.all([before, behind].map(failing => t.rejects(failing, { message: 'the device is full' })))
  CachePool.prototype.swap = swap
  while ((await take()) === 'text') {}
  t.same(got, await alone(model, greedy([9, 8], 60)))
  t.equal(model.capacity().active, 0)
})

for (const runtime of ['native', 'worker'] as const) {
  t.test(`sequences that start and end do not change the results of others (${runtime} runtime)`, async t => {
    const oracle = await loadModel(t)
    const known = new Map<string, readonly number[]>()
    const expected = async (request: GenerateRequest): Promise<readonly number[]> => {
      const name = JSON.stringify([request.tokens, request.sampling])
      const tokens = known.get(name) ?? (await alone(oracle, { ...request, maxTokens: 40 }))
      known.set(name, tokens)
      return tokens.slice(0, request.maxTokens)
    }
    const request = fc.record({
      prefix: fc.constantFrom(0, 4, 30, 60),
      own: fc.integer({ min: 1, max: 20 }),
      maxTokens: fc.nat(40),
      seed: fc.nat(3),
      greedy: fc.boolean(),
      wait: fc.nat(40),
      abortAfter: fc.option(fc.nat(10), { freq: 2 }),
      walkAway: fc.boolean(),
      reusePrefix: fc.boolean(),
      client: fc.constantFrom('a', 'b')
    })
    const options = fc.record({
      slots: fc.integer({ min: 1, max: 5 }),
      promptChunk: fc.constantFrom(5, 16, 64),
      speculation: fc.constantFrom(0, 3, 8)
    })
    await t.resolves(
      fc.assert(
        fc.asyncProperty(options, fc.array(request, { minLength: 1, maxLength: 12 }), async (load, requests) => {
          const { slots, ...engine } = load
          const model = await loadModel(t, { slots, engine: { ...engine, runtime } })
          await Promise.all(
            requests.map(async ({ prefix, own, wait, abortAfter, walkAway, seed, greedy, ...rest }) => {
              const sampling = { temperature: greedy ? 0 : 1, seed }
              const tokens = [...range(prefix), ...range(own, 20 + seed)]
              const full = { tokens, ignoreEos: true, sampling, ...rest }
              for (let turns = 0; turns < wait; turns++) await turn()
              const abort = new AbortController()
              if (abortAfter === 0) abort.abort()
              const got: number[] = []
              let done: string | null = null
              let events = 0
              for await (const event of model.generate({ ...full, signal: abort.signal })) {
                if (event.type === 'done') done = event.finishReason
                else got.push(...event.tokens)
                if (++events === abortAfter) {
                  if (walkAway) break
                  abort.abort()
                }
              }
              const wanted = await expected(full)
              if (done === 'length') t.same(got, wanted)
              else t.same(got, wanted.slice(0, got.length))
            })
          )
          t.same(model.capacity(), { slots, active: 0, waiting: 0 })
          const { promptTokens, cachedPromptTokens, cachePositionsUsed } = model.statistics()
          const asked = requests.reduce((sum, { prefix, own }) => sum + prefix + own, 0)
          t.ok(promptTokens + cachedPromptTokens <= asked)
          t.ok(cachePositionsUsed <= slots * model.info.contextLength)
          await model.close()
        }),
        { numRuns: runtime === 'native' ? 12 : 3 }
      )
    )
  })
}
