import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readGguf, readGgufModel } from '#gguf'
import { mergeAdapter } from '#merge'
import { TensorReader } from '#weights'
import { familyDirectory } from '../support/families.ts'
import { fixtures, openEngine, temporaryFolder } from '../support/models.ts'
import { floats, safetensors } from '../support/safetensors.ts'

const folder = join(fixtures, 'gguf')
const tokens = Array.from({ length: 12 }, (_, index) => ((index * 37 + 11) % 297) + 3)

function difference(one: readonly Float32Array[], other: readonly Float32Array[]): number {
  return Math.max(...one.map((row, index) => Math.max(...row.map((value, id) => Math.abs(value - other[index]![id]!)))))
}

/** Writes a PEFT adapter of the query and key projections of the fixture `llama3`. */
async function queryKeyAdapter(t: Test): Promise<string> {
  const directory = await temporaryFolder(t)
  const settings = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: ['q_proj', 'k_proj'] }
  await writeFile(join(directory, 'adapter_config.json'), JSON.stringify(settings))
  const path = (name: string) => `base_model.model.model.layers.1.self_attn.${name}_proj`
  const factors = Object.entries({ q: 64, k: 32 }).flatMap(([name, outputs]) => [
    [`${path(name)}.lora_A.weight`, floats([4, 32], i => Math.sin(i))],
    [`${path(name)}.lora_B.weight`, floats([outputs, 4], i => Math.cos(i))]
  ])
  await writeFile(join(directory, 'adapter_model.safetensors'), safetensors(Object.fromEntries(factors)))
  return directory
}

t.test('an adapter changes interleaved rows of a GGUF model as it changes those of the checkpoint', async t => {
  const directory = await queryKeyAdapter(t)
  const engine = await openEngine(t)
  const results: Float32Array[][] = []
  for (const runDirectory of [await familyDirectory(t, 'llama3'), join(folder, 'llama3.gguf')]) {
    const model = await engine.load({ runDirectory })
    await model.adapters!.add({ name: 'x', directory })
    results.push([...(await model.logits(tokens)), ...(await model.logits(tokens, { adapter: 'x' }))])
    await model.close()
  }
  const [checkpoint, gguf] = results as [Float32Array[], Float32Array[]]
  t.ok(difference(checkpoint, gguf) < 2e-4)
  t.ok(difference(gguf.slice(0, tokens.length), gguf.slice(tokens.length)) > 0.1, 'the adapter changes the logits')
})

t.test('merged weights in the folder of a GGUF file replace tensors of the file', async t => {
  const runDirectory = join(await temporaryFolder(t), 'run')
  await mkdir(runDirectory)
  await copyFile(join(folder, 'qwen2-q8_0.gguf'), join(runDirectory, 'model.gguf'))
  const engine = await openEngine(t)
  const options = { runDirectory, quantization: 'none' } as const
  const plain = await engine.load(options)
  const before = await plain.logits(tokens)
  await plain.close()
  const merged = { 'model.norm.weight': floats([32], () => 0) }
  await writeFile(join(runDirectory, 'merged.safetensors'), safetensors(merged))
  const model = await engine.load(options)
  t.teardown(() => model.close())
  t.same([...(await model.logits(tokens)).at(-1)!], Array(300).fill(0))
  t.ok(Math.max(...before.at(-1)!) > 0)
  t.not(model.info.digest, plain.info.digest)
})

t.test('an adapter can be merged into the decoded weights of a GGUF file', async t => {
  const adapter = await queryKeyAdapter(t)
  const runDirectory = join(await temporaryFolder(t), 'run')
  await mkdir(runDirectory)
  for (const part of [1, 2]) {
    const name = `llama3-q4_0-0000${part}-of-00002.gguf`
    await copyFile(join(folder, name), join(runDirectory, name))
  }
  const engine = await openEngine(t)
  const options = { runDirectory, quantization: 'none' } as const
  const base = await engine.load(options)
  await base.adapters!.add({ name: 'x', directory: adapter })
  const wanted = await base.logits(tokens, { adapter: 'x' })
  await base.close()
  const runtime = engine.openRuntime()
  const merged = await mergeAdapter({ runDirectory, adapter, runtime, threads: 1, experimental: false })
  t.same(merged.tensors.length, 2)
  const model = await engine.load(options)
  t.teardown(() => model.close())
  t.ok(difference(wanted, await model.logits(tokens)) < 1e-3)
})

t.test('a second load uses the converted weights of the first', async t => {
  const steps: string[] = []
  const engine = await openEngine(t)
  for (const count of [1, 2]) {
    const model = await engine.load({
      runDirectory: join(folder, 'qwen2-q4_0.gguf'),
      onProgress: (_, step) => void steps.push(`${count} ${step}`)
    })
    await model.close()
  }
  t.ok(steps.includes('1 quantising the weights'))
  t.notOk(steps.includes('2 quantising the weights'))
})

t.test('requested 4 bits for other blocks are used, and the load says what they cost', async t => {
  const notes: string[] = []
  const engine = await openEngine(t, { onNote: note => void notes.push(note) })
  const model = await engine.load({ runDirectory: join(folder, 'qwen2-q8_0.gguf'), quantization: 'q4' })
  t.teardown(() => model.close())
  t.equal(model.info.quantization, 'q4')
  t.match(notes, [/rounding them again, to 4 bits, adds errors/])
})

/** Copies a fixture, and sets two bytes of a tensor. */
async function changed(t: Test, name: string, tensor: string, at: number, half: number): Promise<string> {
  const file = join(await temporaryFolder(t), `${name}.gguf`)
  const bytes = await readFile(join(folder, `${name}.gguf`))
  bytes.writeUInt16LE(half, (await readGguf(join(folder, `${name}.gguf`))).tensors.get(tensor)!.offset + at)
  await writeFile(file, bytes)
  return file
}

for (const [what, name, tensor, at, half, quantization, message] of [
  [
    'NaN as a scale of Q8_0',
    'qwen2-q8_0',
    'blk.1.ffn_up.weight',
    34,
    0x7e00,
    'auto',
    /mlp\.up_proj\.weight contains NaN at element 32/
  ],
  [
    'an infinite scale of Q4_0',
    'qwen2-q4_0',
    'blk.1.ffn_up.weight',
    18,
    0x7c00,
    'auto',
    /mlp\.up_proj\.weight contains the scale Infinity at element 32/
  ],
  [
    'an embedding beyond half precision',
    'qwen2-q8_0',
    'token_embd.weight',
    0,
    0x7bff,
    'auto',
    /embed_tokens\.weight contains -?\d+, more than half/
  ],
  [
    'NaN in half precision',
    'qwen2-q8_0',
    'blk.0.ffn_down.weight',
    6,
    0x7e00,
    'none',
    /mlp\.down_proj\.weight contains NaN at element 3/
  ]
] as const) {
  t.test(`refuses ${what}, naming file and tensor, and leaves no converted weights`, async t => {
    const runDirectory = await changed(t, name, tensor, at, half)
    const engine = await openEngine(t)
    for (const _ of ['new', 'again']) {
      await t.rejects(engine.load({ runDirectory, quantization }), {
        code: 'INF_RUN_DIR_TENSOR_INVALID',
        message,
        data: { file: runDirectory }
      })
    }
  })
}

t.test('a file that shrinks during the load is truncated, not read as zeros', async t => {
  const file = join(await temporaryFolder(t), 'm.gguf')
  const bytes = await readFile(join(folder, 'qwen2-q4_0.gguf'))
  await writeFile(file, bytes)
  const { tensors } = await readGgufModel([file])
  const entry = tensors.get('model.layers.3.mlp.up_proj.weight')!
  await writeFile(file, bytes.subarray(0, entry.offset + 20))
  const reader = new TensorReader()
  t.teardown(() => reader.close())
  await t.rejects(reader.read(entry, 0, new Float32Array(32 * 48)), { code: 'INF_RUN_DIR_TRUNCATED', data: { file } })
})

t.test('any range of interleaved and of quantised rows can be read', async t => {
  const reader = new TensorReader()
  t.teardown(() => reader.close())
  for (const files of [['llama3'], ['llama3-q4_0-00001-of-00002', 'llama3-q4_0-00002-of-00002']]) {
    const { tensors } = await readGgufModel(files.map(file => join(folder, `${file}.gguf`)))
    for (const name of ['weight', 'bias']) {
      const entry = tensors.get(`model.layers.0.self_attn.q_proj.${name}`)!
      const whole = new Float32Array(entry.shape.reduce((a, b) => a * b, 1))
      await reader.read(entry, 0, whole)
      for (const [first, length] of [
        [0, 1],
        [5, 40],
        [whole.length - 7, 7],
        [33, 31]
      ] as const) {
        if (first + length > whole.length) continue
        const part = new Float32Array(length)
        await reader.read(entry, first, part)
        t.same(part, whole.slice(first, first + length))
      }
    }
  }
})

t.test('a folder that contains neither a checkpoint nor a GGUF file names both', async t => {
  const runDirectory = await temporaryFolder(t)
  await t.rejects((await openEngine(t)).load({ runDirectory }), { code: 'INF_RUN_DIR_FILE_MISSING' })
  await t.rejects((await openEngine(t)).load({ runDirectory: join(runDirectory, 'x.gguf') }), {
    code: 'INF_RUN_DIR_NOT_FOUND',
    hint: /or a GGUF file/
  })
})
