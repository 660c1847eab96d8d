import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readSafetensors } from '#root'
import { checkLogits } from '#weights'
import { collect, fixtures, greedy, loadModel, openEngine, temporaryFolder } from './support/models.ts'
import { floats, safetensors } from './support/safetensors.ts'

const NAN = { F32: [0, 0, 0xc0, 0x7f], BF16: [0xc0, 0x7f] } as const
const INFINITY = { F32: [0, 0, 0x80, 0xff], BF16: [0x80, 0x7f] } as const

/** Returns a copy of a fixture with one value replaced. */
async function brokenCopy(t: Test, name: string, file: string, tensor: string, value = NAN): Promise<string> {
  const folder = join(await temporaryFolder(t), name)
  await cp(join(fixtures, name), folder, { recursive: true })
  const path = join(folder, file)
  const entry = (await readSafetensors(path)).tensors.get(tensor)
  if (entry === undefined) throw new Error(`${file} has no ${tensor}`)
  const bytes = await readFile(path)
  bytes.set(value[entry.dtype as 'F32'], entry.offset + entry.byteLength / 2)
  await writeFile(path, bytes)
  return folder
}

const LLAMA = 'llama-tiny-bf16'
const QWEN = 'qwen2-tiny'

for (const [name, file, tensor, quantization, value] of [
  [LLAMA, 'model.safetensors', 'model.layers.1.mlp.down_proj.weight', 'none', NAN],
  [LLAMA, 'model.safetensors', 'model.layers.0.self_attn.q_proj.weight', 'q8', INFINITY],
  [LLAMA, 'model.safetensors', 'model.embed_tokens.weight', 'q4', NAN],
  [QWEN, 'model-00001-of-00002.safetensors', 'model.embed_tokens.weight', 'none', NAN],
  [QWEN, 'model-00002-of-00002.safetensors', 'model.norm.weight', 'none', INFINITY]
] as const) {
  t.test(`${name}, ${quantization}: rejects a non-finite value in ${tensor} by name`, async t => {
    const runDirectory = await brokenCopy(t, name, file, tensor, value as typeof NAN)
    const engine = await openEngine(t)
    for (const _ of ['new', 'cached']) {
      await t.rejects(engine.load({ runDirectory, quantization, adapter: false }), {
        code: 'INF_RUN_DIR_TENSOR_INVALID',
        status: 500,
        message: new RegExp(`${file}: ${tensor} contains (NaN|-?Infinity) at element \\d+`)
      })
    }
  })
}

t.test('rejects NaN in the adapter of a run directory, naming the tensor', async t => {
  const file = 'candle_qlora_adapter.safetensors'
  const [tensor = ''] = (await readSafetensors(join(fixtures, LLAMA, file))).tensors.keys()
  const runDirectory = await brokenCopy(t, LLAMA, file, tensor)
  const engine = await openEngine(t)
  await t.rejects(engine.load({ runDirectory }), { code: 'INF_ADAPTER_INVALID', message: `${tensor} contains NaN` })
})

t.test('rejects NaN in an added adapter, and the model continues to serve', async t => {
  const model = await loadModel(t, { adapter: false })
  const directory = await temporaryFolder(t)
  const path = 'base_model.model.model.layers.0.self_attn.q_proj'
  const configuration = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: ['q_proj'] }
  await writeFile(join(directory, 'adapter_config.json'), JSON.stringify(configuration))
  await writeFile(
    join(directory, 'adapter_model.safetensors'),
    safetensors({
      [`${path}.lora_A.weight`]: floats([4, 64], i => i),
      [`${path}.lora_B.weight`]: floats([128, 4], i => (i === 9 ? Number.NaN : i))
    })
  )
  await t.rejects(async () => void (await model.adapters?.add({ name: 'broken', directory })), {
    code: 'INF_ADAPTER_INVALID',
    message: `${path}.lora_B.weight contains NaN at element 9`
  })
  t.equal((await collect(model.generate(greedy([9, 8], 2)))).tokens.length, 2)
})

t.test('rejects non-finite logits, except minus infinity for forbidden tokens', t => {
  const { NEGATIVE_INFINITY: low, POSITIVE_INFINITY: high, NaN: none } = Number
  checkLogits(Float32Array.of(1, low, -3))
  for (const [values, token] of [
    [[1, 2, none], 2],
    [[high, 1], 0],
    [[low, low], 0]
  ] as const) {
    t.throws(() => checkLogits(Float32Array.from(values)), { code: 'INF_NOT_FINITE', data: { token } })
  }
  t.end()
})
