import { join } from 'node:path'
import t from 'tap'
import { checkpointTensors, ggufConfiguration, readGguf } from '#gguf'
import { fixtures } from '../support/models.ts'

const folder = join(fixtures, 'gguf')

async function configure(name: string, change: Record<string, unknown> = {}) {
  const file = await readGguf(join(folder, `${name}.gguf`))
  const metadata = new Map(file.metadata)
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) metadata.delete(key)
    else metadata.set(key, value as string)
  }
  return (await ggufConfiguration({ ...file, metadata }, 300)).configuration
}

t.test('names the fields as transformers does', async t => {
  t.match(await configure('qwen3'), {
    model_type: 'qwen3',
    hidden_size: 32,
    intermediate_size: 48,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 32,
    vocab_size: 300,
    max_position_embeddings: 128,
    rope_theta: 1_000_000,
    partial_rotary_factor: 1,
    tie_word_embeddings: true,
    attention_bias: false,
    rope_scaling: undefined
  })
})

t.test('biases and an own head show in the tensors', async t => {
  t.match(await configure('llama3'), { attention_bias: true, mlp_bias: true, tie_word_embeddings: true })
  t.match(await configure('qwen2'), { attention_bias: false, mlp_bias: false, tie_word_embeddings: false })
})

t.test('the largest Gemma scales attention by another number than the head size', async t => {
  const size = async (layers: number) =>
    (await configure('gemma3', { 'gemma3.block_count': layers, 'gemma3.embedding_length': 96 })).query_pre_attn_scalar
  t.same([await size(6), await size(62)], [16, 24])
})

t.test('values that are the same for all layers may be a list', async t => {
  const heads = { 'qwen2.attention.head_count': [2, 2], 'qwen2.attention.head_count_kv': [1, 1] }
  t.match(await configure('qwen2', heads), { num_attention_heads: 2, num_key_value_heads: 1 })
})

for (const [what, change, scaling] of [
  ['none', { 'qwen2.rope.scaling.type': 'none' }, undefined],
  ['a factor of old converters', { 'qwen2.rope.scale_linear': 4 }, { rope_type: 'linear', factor: 4 }],
  [
    'linear',
    { 'qwen2.rope.scaling.type': 'linear', 'qwen2.rope.scaling.factor': 2 },
    { rope_type: 'linear', factor: 2 }
  ],
  ['linear without a factor', { 'qwen2.rope.scaling.type': 'linear', 'qwen2.rope.scaling.factor': 1 }, undefined],
  ['yarn', {}, { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 }]
] as const) {
  t.test(`scaling of the rotary embedding: ${what}`, async t => {
    t.match({ found: (await configure('qwen2', change)).rope_scaling }, { found: scaling })
  })
}

for (const [what, name, change, code, message] of [
  [
    'another architecture',
    'qwen2',
    { 'general.architecture': 'mamba' },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /general\.architecture "mamba" is not supported; supported: llama, qwen2, qwen3, qwen35, gemma2, gemma3, phi3/
  ],
  [
    'an architecture that names a property of objects',
    'qwen2',
    { 'general.architecture': 'constructor' },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /"constructor"/
  ],
  [
    'no architecture',
    'qwen2',
    { 'general.architecture': undefined },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /general\.architecture ""/
  ],
  [
    'an architecture that is a number',
    'qwen2',
    { 'general.architecture': 7 },
    'INF_RUN_DIR_MALFORMED',
    /it is not a text/
  ],
  [
    'no context length',
    'qwen2',
    { 'qwen2.context_length': undefined },
    'INF_RUN_DIR_MALFORMED',
    /qwen2\.context_length: it is missing/
  ],
  [
    'a count of 0',
    'qwen2',
    { 'qwen2.block_count': 0 },
    'INF_RUN_DIR_MALFORMED',
    /block_count: 0 is not a whole number above 0/
  ],
  [
    'a count that is no number',
    'qwen2',
    { 'qwen2.embedding_length': 'x' },
    'INF_RUN_DIR_MALFORMED',
    /not a finite number/
  ],
  [
    'heads that differ between layers',
    'qwen2',
    { 'qwen2.attention.head_count_kv': [1, 2] },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /head_count_kv \[1,2\].*the same for all layers/
  ],
  [
    'a list of heads that are too large',
    'qwen2',
    { 'qwen2.attention.head_count': [2, 2n ** 60n] },
    'INF_RUN_DIR_MALFORMED',
    /head_count: it is not a list of whole numbers/
  ],
  [
    'a list of heads without numbers',
    'qwen2',
    { 'qwen2.attention.head_count': [] },
    'INF_RUN_DIR_MALFORMED',
    /not a list of whole numbers/
  ],
  [
    'values of another size than keys',
    'qwen3',
    { 'qwen3.attention.value_length': 16 },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /value_length 16/
  ],
  ['experts', 'qwen2', { 'qwen2.expert_count': 8 }, 'INF_ARCHITECTURE_UNSUPPORTED', /expert_count 8/],
  [
    'attention to later positions',
    'qwen2',
    { 'qwen2.attention.causal': false },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /causal false/
  ],
  [
    'an unknown scaling',
    'qwen2',
    { 'qwen2.rope.scaling.type': 'su' },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /"su" is not supported; supported: none, linear, yarn/
  ],
  [
    'parameters of yarn that are not read',
    'qwen2',
    { 'qwen2.rope.scaling.yarn_attn_factor': 2 },
    'INF_ARCHITECTURE_UNSUPPORTED',
    /yarn_attn_factor 2/
  ]
] as const) {
  t.test(`refuses ${what}, naming the key`, async t => {
    await t.rejects(configure(name, change), { code, message, data: Object })
  })
}

t.test('a tensor of unknown meaning is refused, since the model would compute something else', async t => {
  const { path, tensors } = await readGguf(join(folder, 'qwen2.gguf'))
  const shape = { heads: 2, keyValueHeads: 1, layers: 4, linear: null }
  const [entry] = tensors.values()
  for (const name of ['blk.0.ffn_gate_exps.weight', 'blk.0.constructor.weight', 'blk.00.attn_q.weight', 'x']) {
    t.throws(() => checkpointTensors(path, new Map([[name, entry!]]), 'plain', shape), {
      code: 'INF_ARCHITECTURE_UNSUPPORTED',
      message: new RegExp(`the tensor "${name}" is not supported`)
    })
  }
  t.equal(checkpointTensors(path, new Map([['rope_freqs.weight', entry!]]), 'plain', shape).size, 0)
})
