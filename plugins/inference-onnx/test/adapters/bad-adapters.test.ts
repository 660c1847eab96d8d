import { cp, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readFactors } from '#adapters'
import { openRuntime, ownRequire } from '#ort'
import { fixtures, loadModel, temporaryFolder } from '../support/models.ts'
import { floats, type Source, safetensors } from '../support/safetensors.ts'

const model = await loadModel(t, { adapter: false })
const q = 'base_model.model.model.layers.0.self_attn.q_proj'
/** Factors that fit a projection of `llama-tiny-bf16`: hidden size 64, 128 query outputs. */
const pair = (
  path = q,
  rank = 4,
  [outputs, inputs]: readonly [number, number] = [128, 64]
): Record<string, Source> => ({
  [`${path}.lora_A.weight`]: floats([rank, inputs], i => Math.sin(i)),
  [`${path}.lora_B.weight`]: floats([outputs, rank], i => Math.cos(i))
})
const configuration = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: ['q_proj'] }

async function peft(t: Test, changes: object = {}, tensors: Record<string, Source> = pair()): Promise<string> {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify({ ...configuration, ...changes }))
  await writeFile(join(folder, 'adapter_model.safetensors'), safetensors(tensors))
  return folder
}

const add = (directory: string, name = 'x') => model.adapters!.add({ name, directory })

t.test('accepts a plain PEFT adapter, and ignores fields without effect', async t => {
  const changes = {
    use_dora: false,
    modules_to_save: null,
    layer_replication: [],
    loftq_config: {},
    init_lora_weights: 'gaussian',
    task_type: 'CAUSAL_LM',
    lora_dropout: 0.1,
    some_future_field: null
  }
  t.match(await add(await peft(t, changes)), { rank: 4, alpha: 8, targets: ['q'] })
  await model.adapters!.remove('x')
})

const rejected: readonly (readonly [
  what: string,
  changes: object,
  message: RegExp,
  tensors?: Record<string, Source>
])[] = [
  ['DoRA', { use_dora: true }, /use_dora is set: DoRA/],
  ['saved modules', { modules_to_save: ['embed_tokens'] }, /modules_to_save is set/],
  ['biases', { bias: 'lora_only' }, /bias is "lora_only"/],
  ['other methods', { peft_type: 'IA3' }, /peft_type is "IA3", not "LORA"/],
  ['changed base weights', { init_lora_weights: 'pissa_niter_4' }, /init_lora_weights is "pissa_niter_4"/],
  ['an invalid rank', { r: 0 }, /r is 0/],
  ['a rank that differs from the tensors', { r: 8 }, /is \[4, 64\], .*states rank 8/],
  ['an invalid pattern', { rank_pattern: { q_proj: 'a' } }, /rank_pattern of "q_proj" is "a"/],
  [
    'an expression that takes exponential time',
    { target_modules: '(([a-z_.0-9]+)+)+X' },
    /target_modules contains a regular expression that cannot be evaluated within 1000 ms/
  ],
  ['an invalid expression', { target_modules: '(' }, /target_modules contains "\("/],
  ['tensors that no target names', { target_modules: ['v_proj'] }, /target_modules does not name .*q_proj/],
  ['half a pair', {}, /lora_B\.weight is missing/, { [`${q}.lora_A.weight`]: floats([4, 64], () => 0) }],
  ['no tensors', {}, /it contains no tensor/, {}],
  [
    'embeddings',
    {},
    /is neither lora_A\.weight nor/,
    { 'base_model.model.model.embed_tokens.weight': floats([2], () => 0) }
  ],
  [
    'the magnitudes of DoRA',
    {},
    /lora_magnitude_vector/,
    { ...pair(), [`${q}.lora_magnitude_vector`]: floats([128], () => 1) }
  ],
  [
    'modules that are not a projection',
    { target_modules: ['router'] },
    /which is not a projection/,
    pair('base_model.model.model.layers.0.router')
  ],
  ['a layer that the model does not have', {}, /label l7\.q is unknown/, pair(q.replace('.0.', '.7.'))],
  [
    'another shape',
    {},
    /is for a tensor of shape \[128, 32\], but .*q_proj.weight is \[128, 64\]/,
    pair(q, 4, [128, 32])
  ],
  [
    'whole numbers',
    {},
    /is I8, not F32/,
    Object.fromEntries(
      Object.entries(pair()).map(([name, { shape, data }]) => [
        name,
        { dtype: 'I8', shape, data: data.subarray(0, data.length / 4) }
      ])
    )
  ]
]
for (const [what, changes, message, tensors] of rejected) {
  t.test(`rejects by name: ${what}`, async t => {
    await t.rejects(add(await peft(t, changes, tensors)), { code: 'INF_ADAPTER_INVALID', message })
    t.same(model.adapters!.list(), [])
  })
}

t.test('rejects folders without an adapter and damaged files, naming the file', async t => {
  const empty = await temporaryFolder(t)
  await t.rejects(add(empty), { code: 'INF_ADAPTER_INVALID', message: /it contains neither adapter_config\.json nor/ })
  await t.rejects(add(join(empty, 'nowhere')), { code: 'INF_ADAPTER_INVALID' })
  const folder = await peft(t)
  const file = join(folder, 'adapter_model.safetensors')
  await truncate(file, 400)
  await t.rejects(add(folder), { code: 'INF_ADAPTER_INVALID', message: /adapter_model\.safetensors/ })
  await rm(file)
  await t.rejects(add(folder), { code: 'INF_ADAPTER_INVALID', message: /adapter_model\.safetensors is missing/ })
  await writeFile(join(folder, 'adapter_config.json'), '{')
  await t.rejects(add(folder), { code: 'INF_ADAPTER_INVALID', message: /adapter_config\.json is not valid/ })
})

t.test('the tensors of a run directory may omit .weight', async t => {
  const folder = await temporaryFolder(t)
  const own = join(fixtures, 'llama-tiny-bf16')
  const bytes = await readFile(join(own, 'candle_qlora_adapter.safetensors'))
  const length = Number(bytes.readBigUInt64LE(0))
  const header = bytes
    .subarray(8, 8 + length)
    .toString()
    .replaceAll('.weight"', '"')
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(header.length))
  const shortened = Buffer.concat([prefix, Buffer.from(header), bytes.subarray(8 + length)])
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'candle_qlora_adapter.safetensors'), shortened)
  for (const name of [
    'adapter_manifest.json',
    'populi_adapter_manifest_v3.json',
    'adapter_meta_v2.json',
    'meta.json'
  ]) {
    await cp(join(own, name), join(folder, name)).catch(() => undefined)
  }
  await add(folder, 'short')
  await add(own, 'long')
  const tokens = [9, 8, 7, 6]
  t.same(await model.logits(tokens, { adapter: 'short' }), await model.logits(tokens, { adapter: 'long' }))
})

t.test('an exported graph does not support adapters', async t => {
  const exported = await loadModel(t, { name: 'exported/genai' })
  t.equal(exported.adapters, undefined)
  const tokens = [9, 8]
  await t.rejects(exported.logits(tokens, { adapter: 'x' }), { code: 'INF_ADAPTER_UNKNOWN' })
  t.same(await exported.logits(tokens, { adapter: null }), await exported.logits(tokens))
})

t.test('an adapter whose largest rank needs more memory than there is in all projections is refused', async t => {
  const runtime = openRuntime('native', ownRequire(), () => {})
  const entry = { name: 'lora', dtype: 'F32', file: 'none', offset: 0, byteLength: 0 } as const
  const rank = 2 ** 40
  const a = { ...entry, shape: [rank, 8] }
  const sites = ['q', 'k'].map(name => ({ name, tensor: name, inputs: 8, outputs: 8, isSelected: false }))
  const updates = new Map([['q', { label: 'q', a, b: { ...entry, shape: [8, rank] }, scale: 1 }]])
  await t.rejects(readFactors(runtime, sites, updates), {
    code: 'INF_OUT_OF_MEMORY',
    message: /need 140737488355328 bytes with rank 1099511627776 in 2 projections/
  })
})
