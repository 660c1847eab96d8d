import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GenerateRequest, LoadedModel } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { familyDirectory } from '../support/families.ts'
import { collect, fixtures, loadModel, openEngine, temporaryFolder } from '../support/models.ts'
import { floats, safetensors } from '../support/safetensors.ts'

type Test = Parameters<typeof temporaryFolder>[0]
const peft = (name: string) => join(fixtures, 'peft', name)
const runDirectory = 'llama-tiny-bf16'
/** Adapters that are written for these tests, by name: rank and size of the factors. */
const written = { narrow: [1, 0.4], wide: [9, 0.2], third: [3, 0.3] } as const
const names = ['base', 'patterns', 'all-linear', ...Object.keys(written)] as const

/** Writes an adapter for the queries of the first layer and the last projection of the second. */
async function writeAdapter(t: Test, rank: number, size: number): Promise<string> {
  const folder = await temporaryFolder(t)
  const config = JSON.parse(await readFile(join(fixtures, runDirectory, 'config.json'), 'utf8'))
  const { hidden_size: hidden, intermediate_size: intermediate } = config
  const value = (i: number) => size * Math.sin(1 + i * (rank + 0.7))
  const prefix = 'base_model.model.model.layers'
  const tensors = {
    [`${prefix}.0.self_attn.q_proj.lora_A.weight`]: floats([rank, hidden], value),
    [`${prefix}.0.self_attn.q_proj.lora_B.weight`]: floats([2 * hidden, rank], value),
    [`${prefix}.1.mlp.down_proj.lora_A.weight`]: floats([rank, intermediate], value),
    [`${prefix}.1.mlp.down_proj.lora_B.weight`]: floats([hidden, rank], value)
  }
  await writeFile(join(folder, 'adapter_model.safetensors'), safetensors(tensors))
  await writeFile(
    join(folder, 'adapter_config.json'),
    JSON.stringify({ peft_type: 'LORA', r: rank, lora_alpha: rank, target_modules: 'all-linear' })
  )
  return folder
}

/** Loads a model without a merged adapter, and adds all adapters. */
async function load(t: Test, slots: number): Promise<LoadedModel> {
  const model = await loadModel(t, { name: runDirectory, adapter: false, slots, engine: { speculation: 0 } })
  for (const name of ['patterns', 'all-linear']) await model.adapters?.add({ name, directory: peft(name) })
  for (const [name, [rank, size]] of Object.entries(written)) {
    await model.adapters?.add({ name, directory: await writeAdapter(t, rank, size) })
  }
  return model
}

const adapterOf = (name: string) => (name === 'base' ? {} : { adapter: name })

/** Returns the tokens and the log probabilities of the most probable tokens at each step. */
async function generate(model: LoadedModel, request: GenerateRequest) {
  const tokens: number[] = []
  const probabilities: (readonly [token: number, logprob: number])[] = []
  for await (const event of model.generate({ ...request, logprobs: 5, reusePrefix: false })) {
    if (event.type !== 'text') continue
    tokens.push(...event.tokens)
    for (const { top } of event.logprobs ?? [])
      for (const { token, logprob } of top) probabilities.push([token, logprob])
  }
  return { tokens, probabilities }
}

t.test('each sequence of a run for any adapters has the log probabilities that it has separately, to 1e-5', async t => {
  const slots = 6
  const model = await load(t, slots)
  const oracle = await load(t, 1)
  let largest = 0
  const sequence = fc.record({
    name: fc.constantFrom(...names),
    length: fc.integer({ min: 1, max: 12 }),
    count: fc.integer({ min: 1, max: 10 })
  })
  const property = fc.asyncProperty(fc.array(sequence, { minLength: 2, maxLength: slots }), async sequences => {
    const requests = sequences.map(({ name, length, count }, i) => ({
      tokens: Array.from({ length }, (_, at) => 9 + ((i + 7 * at) % 200)),
      maxTokens: count,
      ignoreEos: true,
      sampling: { temperature: 0 },
      ...adapterOf(name)
    }))
    const together = await Promise.all(requests.map(request => generate(model, request)))
    for (const [i, request] of requests.entries()) {
      const alone = await generate(oracle, request)
      t.same(together[i]?.tokens, alone.tokens)
      for (const [at, [token, logprob]] of alone.probabilities.entries()) {
        const [otherToken, other] = together[i]?.probabilities[at] ?? []
        if (otherToken === token) largest = Math.max(largest, Math.abs(logprob - (other ?? 0)))
        else t.ok(Math.abs(logprob - (other ?? 0)) < 1e-5, 'tokens are exchanged only if they are equally probable')
      }
    }
  })
  await fc.assert(property, { numRuns: 25 })
  t.ok(largest < 1e-5, `largest difference ${largest}`)
})

t.test('sequences of all adapters and of the base model share their runs', async t => {
  const model = await load(t, names.length)
  const before = model.statistics()
  await Promise.all(
    names.map(name =>
      collect(
        model.generate({
          tokens: [9, 8, 7],
          maxTokens: 40,
          ignoreEos: true,
          sampling: { temperature: 0 },
          ...adapterOf(name)
        })
      )
    )
  )
  const { decodeRuns, decodedSequences } = model.statistics()
  const mean = (decodedSequences - before.decodedSequences) / (decodeRuns - before.decodeRuns)
  t.ok(mean > names.length - 1 && mean <= names.length, `${mean} sequences a run`)
})

t.test('an adapter whose products overflow changes no other sequence of its run', async t => {
  const model = await load(t, 4)
  await model.adapters?.add({ name: 'huge', directory: await writeAdapter(t, 2, 1e30) })
  const request = { tokens: [9, 8, 7], maxTokens: 20, ignoreEos: true, sampling: { temperature: 0 } }
  const others = ['base', 'patterns', 'wide']
  const alone = await Promise.all(others.map(name => generate(model, { ...request, ...adapterOf(name) })))
  const [huge, ...together] = await Promise.allSettled([
    generate(model, { ...request, adapter: 'huge' }),
    ...others.map(name => generate(model, { ...request, ...adapterOf(name) }))
  ])
  t.match(huge, { status: 'rejected', reason: { code: 'INF_NOT_FINITE' } })
  for (const [i, result] of together.entries()) {
    t.match(result, { status: 'fulfilled', value: { tokens: alone[i]?.tokens } }, `${others[i]}`)
  }
})

t.test('an adapter without tensors has the results of the base model, in a run with it', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'candle_qlora_adapter.safetensors'), safetensors({}))
  await writeFile(join(folder, 'adapter_manifest.json'), JSON.stringify({ rank: 2, alpha: 4 }))
  const model = await load(t, 3)
  await model.adapters?.add({ name: 'empty', directory: folder })
  const request = { tokens: [9, 8, 7], maxTokens: 20, ignoreEos: true, sampling: { temperature: 0 } }
  const [base, empty, other] = await Promise.all(
    ['base', 'empty', 'patterns'].map(name => generate(model, { ...request, ...adapterOf(name) }))
  )
  t.same(empty?.tokens, base?.tokens)
  t.notSame(other?.tokens, base?.tokens)
  const [again, same] = await Promise.all(
    ['base', 'empty'].map(name => generate(model, { ...request, ...adapterOf(name) }))
  )
  t.same([again?.tokens, same?.tokens], [base?.tokens, base?.tokens])
})

t.test('adapters of linear attention share runs with the base model', async t => {
  const engine = await openEngine(t)
  const folder = await familyDirectory(t, 'qwen3_5')
  const model = await engine.load({ runDirectory: folder, adapter: false, slots: 4, maxContext: 64 })
  t.teardown(() => model.close())
  await model.adapters?.add({ name: 'linear', directory: peft('linear') })
  const requests = [{}, { adapter: 'linear' }, {}, { adapter: 'linear' }].map((adapter, i) => ({
    tokens: [14, 51, 88 + i],
    maxTokens: 20,
    ignoreEos: true,
    sampling: { temperature: 0 },
    ...adapter
  }))
  const together = await Promise.all(requests.map(request => generate(model, request)))
  for (const [i, request] of requests.entries()) {
    t.same(together[i]?.tokens, (await generate(model, request)).tokens)
  }
})

t.test('adapters that do not fit into memory together fail only the sequences of that run', async t => {
  const model = await load(t, 3)
  const request = { tokens: [9, 8, 7], maxTokens: 8, ignoreEos: true, sampling: { temperature: 0 } }
  const all = () =>
    Promise.allSettled(['base', 'patterns', 'wide'].map(name => generate(model, { ...request, ...adapterOf(name) })))
  const alone = []
  for (const name of ['base', 'patterns', 'wide']) alone.push(await generate(model, { ...request, ...adapterOf(name) }))
  const { ArrayBuffer: Real } = globalThis
  let refused = 0
  globalThis.ArrayBuffer = class extends Real {
    constructor(size: number) {
      // Less than the largest factor of the three, and more than anything else that a run allocates.
      if (size > 15_000) {
        refused++
        throw new RangeError('Array buffer allocation failed')
      }
      super(size)
    }
  } as ArrayBufferConstructor
  const failed = await all().finally(() => {
    globalThis.ArrayBuffer = Real
  })
  t.ok(refused > 0)
  for (const result of failed.slice(1)) t.match(result, { status: 'rejected', reason: { code: 'INF_OUT_OF_MEMORY' } })
  const after = await all()
  for (const [i, result] of after.entries())
    t.match(result, { status: 'fulfilled', value: { tokens: alone[i]?.tokens } })
})
