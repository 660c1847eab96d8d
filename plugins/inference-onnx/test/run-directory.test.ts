import { cp, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t from 'tap'
import { readRunDirectory } from '#root'
import { collect, fixtures, greedy, loadModel, openEngine, readExpected, temporaryFolder } from './support/models.ts'
import { floats, safetensors } from './support/safetensors.ts'

const LLAMA = 'llama-tiny-bf16'
const QWEN = 'qwen2-tiny'

type Test = Parameters<typeof temporaryFolder>[0]

async function copyOf(t: Test, name: string): Promise<string> {
  const folder = join(await temporaryFolder(t), name)
  await cp(join(fixtures, name), folder, { recursive: true })
  return folder
}

async function editJson(file: string, edit: (value: any) => void): Promise<void> {
  const value = JSON.parse(await readFile(file, 'utf8'))
  edit(value)
  await writeFile(file, JSON.stringify(value))
}

const read = (folder: string) => readRunDirectory(folder, { adapter: true })

t.test('the error about a missing directory, or a file at its path, names the path', async t => {
  const folder = await temporaryFolder(t)
  await t.rejects(read(join(folder, 'nothing')), { code: 'INF_RUN_DIR_NOT_FOUND', message: /nothing does not exist/ })
  await writeFile(join(folder, 'file'), '')
  await t.rejects(read(join(folder, 'file')), { code: 'INF_RUN_DIR_NOT_FOUND', message: /file is not a directory/ })
})

for (const [name, file] of [
  [LLAMA, 'config.json'],
  [LLAMA, 'tokenizer.json'],
  [LLAMA, 'model.safetensors'],
  [LLAMA, 'candle_qlora_adapter.safetensors'],
  [LLAMA, 'adapter_manifest.json'],
  [QWEN, 'model-00001-of-00002.safetensors'],
  [QWEN, 'model-00002-of-00002.safetensors']
] as const) {
  t.test(`rejects a ${name} without ${file}, naming the file`, async t => {
    const folder = await copyOf(t, name)
    await rm(join(folder, file))
    await t.rejects(read(folder), { code: 'INF_RUN_DIR_FILE_MISSING', message: join(folder, file), hint: String })
  })
}

t.test('names a missing numbered shard, even if there is no index', async t => {
  const folder = await copyOf(t, QWEN)
  await rm(join(folder, 'model.safetensors.index.json'))
  t.equal((await read(folder)).tensors.size, 26)
  await rm(join(folder, 'model-00001-of-00002.safetensors'))
  await t.rejects(read(folder), { code: 'INF_RUN_DIR_FILE_MISSING', message: /model-00001-of-00002/ })
})

for (const target of ['../model.safetensors', '/etc/passwd', 'a/../../b.safetensors', '', 7, 'x\0y']) {
  t.test(`an index that refers to ${JSON.stringify(target)} is rejected`, async t => {
    const folder = await copyOf(t, QWEN)
    await editJson(join(folder, 'model.safetensors.index.json'), index => {
      index.weight_map['model.norm.weight'] = target
    })
    await t.rejects(read(folder), { code: 'INF_RUN_DIR_PATH_UNSAFE', message: /model\.norm\.weight/ })
  })
}

t.test('accepts a relative path and a trailing slash', async t => {
  const engine = await openEngine(t)
  for (const runDirectory of [`${relative(process.cwd(), join(fixtures, QWEN))}/`, `${join(fixtures, QWEN)}/`]) {
    const model = await engine.load({ runDirectory })
    t.equal(model.info.family, 'qwen2')
    await model.close()
  }
})

t.test('an index with a missing shard or tensor is rejected', async t => {
  const folder = await copyOf(t, QWEN)
  const index = join(folder, 'model.safetensors.index.json')
  await editJson(index, value => {
    value.weight_map.ghost = 'model-00001-of-00002.safetensors'
  })
  await t.rejects(read(folder), { code: 'INF_RUN_DIR_TENSOR_MISSING', message: /ghost/ })
  await editJson(index, value => {
    value.weight_map.ghost = 'ghost.safetensors'
  })
  await t.rejects(read(folder), { code: 'INF_RUN_DIR_FILE_MISSING', message: /ghost\.safetensors/ })
  await writeFile(index, '{"weight_map": []}')
  await t.rejects(read(folder), { code: 'INF_RUN_DIR_MALFORMED', message: /weight_map/ })
})

t.test('rejects a tensor in two shards without an index, naming both files', async t => {
  const folder = await copyOf(t, LLAMA)
  await cp(join(folder, 'model.safetensors'), join(folder, 'model-copy.safetensors'))
  await t.rejects(read(folder), {
    code: 'INF_RUN_DIR_MALFORMED',
    message: /model-copy\.safetensors.*model\.safetensors/s
  })
})

t.test('a truncated shard is rejected before anything is computed', async t => {
  const folder = await copyOf(t, LLAMA)
  await truncate(join(folder, 'model.safetensors'), 100_000)
  const engine = await openEngine(t)
  await t.rejects(engine.load({ runDirectory: folder }), {
    code: 'INF_RUN_DIR_TRUNCATED',
    message: /model\.safetensors is truncated at byte \d+/
  })
})

t.test('rejects JSON that is invalid or not an object, naming the file', async t => {
  for (const file of ['config.json', 'tokenizer.json', 'generation_config.json', 'adapter_manifest.json']) {
    const folder = await copyOf(t, LLAMA)
    await writeFile(join(folder, file), '{"a":')
    await t.rejects(read(folder), { code: 'INF_RUN_DIR_MALFORMED', message: file })
    await writeFile(join(folder, file), '[]')
    await t.rejects(read(folder), { code: 'INF_RUN_DIR_MALFORMED', message: file })
  }
})

t.test('reads weights from the base_model folder of the adapter metadata', async t => {
  const folder = await copyOf(t, LLAMA)
  const base = join(folder, '..', 'base')
  await mkdir(base)
  await rename(join(folder, 'model.safetensors'), join(base, 'model.safetensors'))
  await t.rejects(read(folder), { code: 'INF_RUN_DIR_FILE_MISSING', hint: /base_model is "llama-tiny-bf16"/ })
  await editJson(join(folder, 'adapter_manifest.json'), metadata => {
    metadata.base_model = '../base'
  })
  const directory = await read(folder)
  t.equal(directory.tensors.get('lm_head.weight')?.file, join(base, 'model.safetensors'))
})

t.test('reads adapter metadata from files with older names', async t => {
  for (const name of ['populi_adapter_manifest_v3.json', 'adapter_meta_v2.json', 'meta.json']) {
    const folder = await copyOf(t, LLAMA)
    await rename(join(folder, 'adapter_manifest.json'), join(folder, name))
    t.match((await read(folder)).adapter, { rank: 4, alpha: 6 })
  }
})

t.test('accepts metadata of version 2 without labels and key map', async t => {
  const folder = await copyOf(t, LLAMA)
  await rm(join(folder, 'adapter_manifest.json'))
  await writeFile(join(folder, 'meta.json'), JSON.stringify({ version: 2, rank: 4, alpha: 6 }))
  t.equal((await read(folder)).adapter?.factors.size, 15)
})

for (const [what, edit, says] of [
  ['another format', (m: any) => (m.format = 'peft'), /format is "peft"/],
  ['an unknown version', (m: any) => (m.version = 4), /version is 4/],
  ['a rank that differs from the tensors', (m: any) => (m.rank = 8), /states rank 8/],
  ['no rank', (m: any) => delete m.rank, /rank is undefined/],
  ['an alpha that is not a number', (m: any) => (m.alpha = '6'), /alpha/],
  ['a label without tensors', (m: any) => m.layer_order.push('l9.q'), /l9\.q\.lora_a\.weight is missing/],
  ['a key map of numbers', (m: any) => (m.base_key_map = { 'l0.q': 1 }), /base_key_map/]
] as const) {
  t.test(`rejects adapter metadata with ${what}`, async t => {
    const folder = await copyOf(t, LLAMA)
    await editJson(join(folder, 'adapter_manifest.json'), edit)
    await t.rejects(read(folder), { code: 'INF_ADAPTER_INVALID', message: says })
  })
}

for (const [what, tensors, says] of [
  ['an unknown tensor name', { x: floats([4, 64], () => 0) }, /tensor x is not named/],
  ['half an update', { 'l0.q.lora_a.weight': floats([4, 64], () => 0) }, /l0\.q\.lora_b\.weight is missing/],
  [
    'tensors that are not F32',
    {
      'l0.q.lora_a.weight': { dtype: 'BF16', shape: [4, 64], data: new Uint8Array(512) },
      'l0.q.lora_b.weight': floats([128, 4], () => 0)
    },
    /adapters must be F32/
  ]
] as const) {
  t.test(`an adapter file with ${what} is rejected`, async t => {
    const folder = await copyOf(t, LLAMA)
    await editJson(join(folder, 'adapter_manifest.json'), metadata => {
      metadata.layer_order = []
    })
    await writeFile(join(folder, 'candle_qlora_adapter.safetensors'), safetensors(tensors))
    await t.rejects(read(folder), { code: 'INF_ADAPTER_INVALID', message: says })
  })
}

for (const [what, label, a, b, says] of [
  [
    'another width',
    'l0.q',
    [4, 32],
    [128, 4],
    /l0\.q is for a tensor of shape \[128, 32\], but .*q_proj\.weight is \[128, 64\]/
  ],
  ['a layer that the model lacks', 'l7.q', [4, 64], [128, 4], /l7\.q is unknown/],
  ['an unknown projection', 'l0.lin_qkv', [4, 64], [128, 4], /l0\.lin_qkv is unknown/]
] as const) {
  t.test(`an adapter made for ${what} is rejected when the model is built`, async t => {
    const folder = await copyOf(t, LLAMA)
    await editJson(join(folder, 'adapter_manifest.json'), metadata => {
      metadata.layer_order = []
      metadata.base_key_map = {}
    })
    const file = join(folder, 'candle_qlora_adapter.safetensors')
    await writeFile(
      file,
      safetensors({ [`${label}.lora_a.weight`]: floats(a, () => 0), [`${label}.lora_b.weight`]: floats(b, () => 0) })
    )
    const engine = await openEngine(t)
    await t.rejects(engine.load({ runDirectory: folder }), { code: 'INF_ADAPTER_INVALID', message: says })
  })
}

t.test('accepts tensor names without .weight', async t => {
  const folder = await copyOf(t, LLAMA)
  await editJson(join(folder, 'adapter_manifest.json'), metadata => {
    metadata.layer_order = ['l0.q']
  })
  const factors = { 'l0.q.lora_a': floats([4, 64], () => 0), 'l0.q.lora_b': floats([128, 4], () => 0) }
  await writeFile(join(folder, 'candle_qlora_adapter.safetensors'), safetensors(factors))
  t.same([...((await read(folder)).adapter?.factors.keys() ?? [])], ['l0.q'])
})

t.test('merged.safetensors replaces base tensors, and the adapter is not applied to them again', async t => {
  const folder = await copyOf(t, LLAMA)
  const merged = { 'model.norm.weight': floats([64], () => 0.5), 'lm_head.weight': floats([300, 64], () => 0) }
  await writeFile(join(folder, 'merged.safetensors'), safetensors(merged))
  const directory = await read(folder)
  t.equal(directory.tensors.get('lm_head.weight')?.file, join(folder, 'merged.safetensors'))
  t.equal(directory.adapter?.factors.has('lm_head'), false)
  t.equal(directory.adapter?.factors.has('l0.q'), true)
  const plain = await readRunDirectory(folder, { adapter: false })
  t.equal(plain.tensors.get('lm_head.weight')?.file, join(folder, 'model.safetensors'))

  const engine = await openEngine(t)
  const model = await engine.load({ runDirectory: folder })
  t.teardown(() => model.close())
  const [logits] = await model.logits([5])
  t.ok(
    logits?.every(value => value === 0),
    'the merged head is all zero'
  )
})

t.test('serves shards that are symbolic links out of the directory', async t => {
  const folder = await copyOf(t, QWEN)
  for (const name of ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']) {
    const blob = join(await temporaryFolder(t), 'blob')
    await rename(join(folder, name), blob)
    await symlink(blob, join(folder, name))
  }
  const engine = await openEngine(t)
  const model = await engine.load({ runDirectory: folder })
  t.teardown(() => model.close())
  const { prompts } = await readExpected(QWEN)
  const { tokens, variants } = prompts[0]!
  const generated = await collect(model.generate(greedy(tokens, 8)))
  t.same(generated.tokens, variants.base!.greedy.slice(0, 8))
})

t.test('reads a handoff, and rejects one that violates its schema, naming the field', async t => {
  const folder = await copyOf(t, LLAMA)
  const file = join(folder, 'external_serving_handoff_v1.json')
  t.equal((await read(folder)).handoff?.prompt_format, 'qwen_chatml_im_start')
  for (const [edit, field] of [
    [(h: any) => (h.backend_family = 'mystery'), 'backend_family'],
    [(h: any) => (h.extra = 1), 'extra'],
    [(h: any) => (h.base_model = ''), 'base_model'],
    [(h: any) => delete h.artifact_dir, 'artifact_dir']
  ] as const) {
    await cp(join(fixtures, LLAMA, 'external_serving_handoff_v1.json'), file)
    await editJson(file, edit)
    await t.rejects(read(folder), { code: 'INF_RUN_DIR_HANDOFF_INVALID', message: field })
  }
  await rm(file)
  t.equal((await read(folder)).handoff, null)
})

for (const [what, edit, code, says] of [
  [
    'an unknown family',
    (c: any) => (c.model_type = 'gpt2'),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /"gpt2".*llama, mistral, qwen2/
  ],
  ['another activation', (c: any) => (c.hidden_act = 'gelu'), 'INF_ARCHITECTURE_UNSUPPORTED', /hidden_act "gelu"/],
  [
    'an unknown rotary scaling',
    (c: any) => (c.rope_parameters.rope_type = 'mrope'),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /rope_type "mrope"/
  ],
  ['no layers', (c: any) => delete c.num_hidden_layers, 'INF_RUN_DIR_MALFORMED', /num_hidden_layers/],
  [
    'heads that cannot be shared',
    (c: any) => (c.num_key_value_heads = 3),
    'INF_RUN_DIR_MALFORMED',
    /num_key_value_heads/
  ],
  ['more layers than weights', (c: any) => (c.num_hidden_layers = 3), 'INF_RUN_DIR_TENSOR_MISSING', /layers\.2\./],
  [
    'another vocabulary',
    (c: any) => (c.vocab_size = 301),
    'INF_RUN_DIR_TENSOR_INVALID',
    /embed_tokens\.weight at byte \d+ is BF16 \[300, 64\], not \[301, 64\]/
  ]
] as const) {
  t.test(`a configuration with ${what} is rejected`, async t => {
    const folder = await copyOf(t, LLAMA)
    await editJson(join(folder, 'config.json'), edit)
    const engine = await openEngine(t)
    await t.rejects(engine.load({ runDirectory: folder, adapter: false }), { code, message: says })
  })
}

t.test('an invalid tokenizer, or one with an unknown decoder, is rejected', async t => {
  const engine = await openEngine(t)
  const folder = await copyOf(t, LLAMA)
  const file = join(folder, 'tokenizer.json')
  await editJson(file, tokenizer => {
    tokenizer.decoder = { type: 'WordPiece' }
  })
  await t.rejects(engine.load({ runDirectory: folder }), { code: 'INF_TOKENIZER_UNSUPPORTED', message: /"WordPiece"/ })
  await writeFile(file, '{}')
  await t.rejects(engine.load({ runDirectory: folder }), { code: 'INF_RUN_DIR_MALFORMED', message: file })
})

t.test('the digest depends only on names and contents', async t => {
  const first = await loadModel(t, { name: QWEN })
  const folder = await copyOf(t, QWEN)
  const engine = await openEngine(t)
  const digest = async () => {
    const model = await engine.load({ runDirectory: folder })
    await model.close()
    return model.info.digest
  }
  t.equal(await digest(), first.info.digest)
  t.equal(await digest(), first.info.digest, 'cached hashes give the same digest')
  await editJson(join(folder, 'config.json'), config => {
    config.note = 'changed'
  })
  t.not(await digest(), first.info.digest)
})
