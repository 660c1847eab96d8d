import t from 'tap'
import { checkAttentionPrecision, checkDeviceAttention, checkDeviceLayers, parseModelConfig } from '#root'
import { familyDirectory, readFamily } from './support/families.ts'
import { openEngine } from './support/models.ts'
import { webgpuProblem } from './support/webgpu.ts'

const SHAPE = {
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 4,
  vocab_size: 300,
  max_position_embeddings: 2048
}

t.test('attention soft caps are rejected on devices that ignore them', async t => {
  checkDeviceAttention(50, 'cpu')
  checkDeviceAttention(null, 'webgpu')
  t.throws(() => checkDeviceAttention(50, 'webgpu'), {
    code: 'INF_ARCHITECTURE_UNSUPPORTED',
    message: /attn_logit_softcapping 50 .*webgpu/
  })
})

t.test('attention in float32 is rejected on CUDA, which computes it wrongly', async t => {
  t.throws(() => checkAttentionPrecision('float32', 'cuda:1', 'gpu_precision'), {
    code: 'INF_ARCHITECTURE_UNSUPPORTED',
    message: 'gpu_precision float32 is not supported on cuda:1; supported: float16, bfloat16',
    data: { field: 'gpu_precision', device: 'cuda:1' }
  })
  for (const device of ['cpu', 'webgpu']) checkAttentionPrecision('float32', device, 'gpu_precision')
  for (const precision of ['float16', 'bfloat16'] as const)
    checkAttentionPrecision(precision, 'cuda:0', 'gpu_precision')
  t.end()
})

// A software driver takes seconds for each model, mostly to compile shaders.
t.setTimeout(120_000)
const problem = await webgpuProblem()

for (const name of ['qwen3', 'gemma2', 'gemma3', 'phi3-longrope']) {
  t.test(`${name} on WebGPU: logits match PyTorch, or the model is rejected`, { skip: problem ?? false }, async t => {
    const runDirectory = await familyDirectory(t, name)
    const load = (await openEngine(t, { promptChunk: 16 })).load({ runDirectory, device: 'webgpu' })
    if (name === 'gemma2') {
      await t.rejects(load, { code: 'INF_ARCHITECTURE_UNSUPPORTED' })
      return
    }
    const model = await load
    t.teardown(() => model.close())
    const [prompt] = await readFamily(name)
    const logits = await model.logits(prompt!.tokens)
    const differences = prompt!.positions.flatMap((position, row) =>
      Array.from(logits[position]!, (value, id) => Math.abs(value - prompt!.logits[row]![id]!))
    )
    t.ok(Math.max(...differences) < 1e-3)
  })
}

t.test('linear attention is rejected on other devices than the CPU, by the name of its field', async t => {
  const config = (family: string) =>
    parseModelConfig('config.json', { ...SHAPE, model_type: family, num_hidden_layers: 4 }, null)
  t.throws(() => checkDeviceLayers(config('qwen3_5_text'), 'cuda'), {
    code: 'INF_ARCHITECTURE_UNSUPPORTED',
    data: { field: 'layer_types', device: 'cuda' }
  })
  t.doesNotThrow(() => checkDeviceLayers(config('qwen3_5_text'), 'cpu'))
  t.doesNotThrow(() => checkDeviceLayers(config('qwen3'), 'cuda'))
})
