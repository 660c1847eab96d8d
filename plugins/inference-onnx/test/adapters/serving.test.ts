import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { GenerateRequest, LoadedModel, LoadOptions } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { collect, fixtures, greedy, loadModel } from '../support/models.ts'

const peft = (name: string) => join(fixtures, 'peft', name)
const range = (length: number, first = 10) => Array.from({ length }, (_, i) => first + ((i * 7) % 200))
/** Weights that a request can select, and the folders of adapters. The model has a merged adapter. */
const folders = { loaded: undefined, base: null, a: peft('patterns'), b: peft('all-linear') } as const
type Name = keyof typeof folders
const names = Object.keys(folders) as readonly Name[]
const adapterOf = (name: Name) => (name === 'loaded' ? {} : { adapter: name === 'base' ? null : name })

async function load(
  t: Test,
  options: Parameters<typeof loadModel>[1] = {},
  added: readonly Name[] = ['a', 'b']
): Promise<LoadedModel & Required<Pick<LoadedModel, 'adapters'>>> {
  const model = await loadModel(t, options)
  const { adapters } = model
  if (adapters === undefined) throw new Error('the model does not support adapters')
  for (const name of added) await adapters.add({ name, directory: folders[name] ?? '' })
  return Object.assign(model, { adapters })
}

async function alone(model: LoadedModel, request: GenerateRequest): Promise<readonly number[]> {
  return (await collect(model.generate({ ...request, reusePrefix: false }))).tokens
}

for (const quantization of ['none', 'q8', 'q4'] as const satisfies LoadOptions['quantization'][]) {
  t.test(
    `adapters, loaded weights and base model give the same results in one batch as separately (${quantization})`,
    async t => {
      const model = await load(t, { slots: 8, quantization })
      const requests = names.flatMap((name, i) =>
        [11, 30].map(length => ({ ...greedy(range(length, i), 30), ...adapterOf(name) }))
      )
      // The first request for the base model opens it, while others are computed already.
      await alone(model, { ...greedy([9], 1), adapter: null })
      const before = model.statistics()
      const together = await Promise.all(requests.map(request => collect(model.generate(request))))
      const { decodeRuns, decodedSequences } = model.statistics()
      const mean = (decodedSequences - before.decodedSequences) / (decodeRuns - before.decodeRuns)
      // The model has a merged adapter, so its two sequences have their own runs; the other six share one. Sequences
      // start one after the other.
      t.ok(mean > 3.5 && mean <= 4, `${mean} sequences a run`)
      for (const [i, request] of requests.entries()) t.same(together[i]?.tokens, await alone(model, request))
      const texts = await Promise.all(names.map(name => alone(model, { ...greedy(range(20), 30), ...adapterOf(name) })))
      t.equal(new Set(texts.map(String)).size, names.length, 'the results of different weights differ')
    }
  )
}

t.test('a prefix is reused only with the adapter that computed it', async t => {
  const model = await load(t, { slots: 6 })
  const prompt = range(60)
  for (const name of names) {
    const request = { ...greedy(prompt, 4), ...adapterOf(name) }
    const [first, second] = [await collect(model.generate(request)), await collect(model.generate(request))]
    t.same([first.done.usage.cachedTokens, second.done.usage.cachedTokens], [0, 59], name)
    t.same(second.tokens, first.tokens)
  }
})

t.test('a new adapter does not reuse prefixes of a removed adapter with the same name', async t => {
  const model = await load(t, {}, ['a'])
  const request = { ...greedy(range(40), 8), adapter: 'a' }
  await collect(model.generate(request))
  await model.adapters.remove('a')
  await model.adapters.add({ name: 'a', directory: peft('all-linear') })
  const { tokens, done } = await collect(model.generate(request))
  t.equal(done.usage.cachedTokens, 0)
  t.same(tokens, await alone(await load(t, {}, ['b']), { ...request, adapter: 'b' }))
})

t.test('adding an adapter does not change runs and results of requests without one', async t => {
  const model = await loadModel(t, { slots: 2 })
  const request = greedy(range(20), 40)
  const before = { tokens: await alone(model, request), logits: await model.logits(range(20)) }
  await model.adapters?.add({ name: 'a', directory: peft('patterns') })
  t.same(await alone(model, request), before.tokens)
  t.same(await model.logits(range(20)), before.logits)
  t.same(model.info.adapter?.rank, 4)
})

t.test('a removed adapter finishes its requests, accepts no new ones, and is then freed', async t => {
  const model = await load(t, { slots: 1 }, ['a'])
  const request = { ...greedy(range(12), 60), adapter: 'a' }
  const expected = await alone(model, request)
  const { weightBytes: with1 } = model.statistics()
  const events = model.generate({ ...request, reusePrefix: false })
  const waiting = collect(model.generate(request))
  let removed: Promise<void> | undefined
  const { tokens } = await collect(events, async count => {
    if (count === 3) removed = model.adapters.remove('a')
    if (count < 5) t.ok(model.statistics().weightBytes > model.info.sizeBytes)
  })
  await removed
  t.same(tokens, expected)
  t.same((await waiting).tokens, expected, 'a request from before the removal gets the adapter')
  while (model.statistics().weightBytes !== model.info.sizeBytes) await turn()
  t.ok(with1 > model.info.sizeBytes)
  t.same(model.adapters.list(), [])
  await t.rejects(collect(model.generate(request)), {
    code: 'INF_ADAPTER_UNKNOWN',
    status: 404,
    message: 'The model has no adapter "a": it has none'
  })
  await t.rejects(model.logits([1], { adapter: 'a' }), { code: 'INF_ADAPTER_UNKNOWN' })
  await t.rejects(model.adapters.remove('a'), { code: 'INF_ADAPTER_UNKNOWN' })
})

t.test('lists adapters in order of addition, and rejects a name that is being added', async t => {
  const model = await load(t, {}, [])
  const add = (name: string) => model.adapters.add({ name, directory: peft('patterns') })
  const [first, second] = await Promise.allSettled([add('a'), add('a')])
  t.equal(first.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { code: 'INF_ADAPTER_EXISTS', status: 409 } })
  await t.rejects(add('a'), { code: 'INF_ADAPTER_EXISTS' })
  await t.rejects(add('a:b'), { code: 'INF_OPTION_INVALID', message: /"a:b"/ })
  const targets = ['down', 'gate', 'q', 'v', 'lm_head']
  t.match(model.adapters.list(), [{ name: 'a', directory: peft('patterns'), rank: 4, alpha: 6 }])
  t.same([...(model.adapters.list()[0]?.targets ?? [])].sort(), [...targets].sort())
  t.ok((model.adapters.list()[0]?.sizeBytes ?? 0) > 0)
})

t.test('adding an adapter can be cancelled, and fails if the model is closed', async t => {
  const model = await load(t, {}, [])
  const controller = new AbortController()
  const cancelled = model.adapters.add({ name: 'a', directory: peft('patterns'), signal: controller.signal })
  controller.abort()
  await t.rejects(cancelled, { code: 'INF_LOAD_CANCELLED' })
  t.same(model.adapters.list(), [])
  const closing = model.adapters.add({ name: 'a', directory: peft('patterns') })
  const both = Promise.all([t.rejects(closing, { code: 'INF_MODEL_CLOSED' }), model.close()])
  await both
  await t.rejects(model.adapters.add({ name: 'a', directory: peft('patterns') }), { code: 'INF_MODEL_CLOSED' })
})

for (const runtime of ['native', 'worker'] as const) {
  t.test(
    `adapters and sequences that start and end do not change the results of others (${runtime} runtime)`,
    async t => {
      const oracle = await load(t)
      const known = new Map<string, readonly number[]>()
      const expected = async (request: GenerateRequest): Promise<readonly number[]> => {
        const name = JSON.stringify([request.tokens, request.sampling, request.adapter ?? String(request.adapter)])
        const tokens = known.get(name) ?? (await alone(oracle, { ...request, maxTokens: 30 }))
        known.set(name, tokens)
        return tokens.slice(0, request.maxTokens)
      }
      const request = fc.record({
        kind: fc.constant('request' as const),
        prefix: fc.constantFrom(0, 4, 30),
        own: fc.integer({ min: 1, max: 12 }),
        maxTokens: fc.integer({ min: 1, max: 30 }),
        seed: fc.nat(2),
        name: fc.constantFrom(...names),
        wait: fc.nat(40)
      })
      const change = fc.record({
        kind: fc.constant('change' as const),
        name: fc.constantFrom('a' as const, 'b' as const),
        wait: fc.nat(40)
      })
      const steps = fc.array(fc.oneof({ weight: 4, arbitrary: request }, { weight: 1, arbitrary: change }), {
        minLength: 1,
        maxLength: 14
      })
      const options = fc.record({ slots: fc.integer({ min: 1, max: 5 }), promptChunk: fc.constantFrom(5, 64) })
      await t.resolves(
        fc.assert(
          fc.asyncProperty(options, steps, async ({ slots, promptChunk }, all) => {
            const model = await load(t, { slots, engine: { promptChunk, runtime } })
            const { adapters } = model
            await Promise.all(
              all.map(async step => {
                for (let turns = 0; turns < step.wait; turns++) await turn()
                const there = adapters.list().some(({ name }) => name === step.name)
                if (step.kind === 'change') {
                  const change = there
                    ? adapters.remove(step.name)
                    : adapters.add({ name: step.name, directory: folders[step.name] })
                  // Two changes of one name may run concurrently; one of them is rejected.
                  return change.then(
                    () => undefined,
                    (error: { code: string }) => {
                      if (!['INF_ADAPTER_EXISTS', 'INF_ADAPTER_UNKNOWN'].includes(error.code)) throw error
                    }
                  )
                }
                const sampling = { temperature: step.seed === 0 ? 0 : 1, seed: step.seed }
                const tokens = [...range(step.prefix), ...range(step.own, 20 + step.seed)]
                const full = { tokens, ignoreEos: true, sampling, maxTokens: step.maxTokens, ...adapterOf(step.name) }
                const running = collect(model.generate(full))
                if (!there && folders[step.name] != null) {
                  return assert.rejects(running, { code: 'INF_ADAPTER_UNKNOWN' })
                }
                assert.deepEqual((await running).tokens, await expected(full), step.name)
              })
            )
            await model.close()
          }),
          { numRuns: runtime === 'native' ? 10 : 3 }
        )
      )
    }
  )
}
