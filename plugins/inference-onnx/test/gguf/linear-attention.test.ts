import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { checkpointTensors, ggufConfiguration, readGguf } from '#gguf'
import { TensorReader } from '#weights'
import { collect, fixtures, greedy, openEngine, temporaryFolder } from '../support/models.ts'

const folder = join(fixtures, 'gguf')

interface Layout {
  readonly axis: 'rows' | 'columns'
  readonly start: number
  readonly keyHeads: number
  readonly perKey: number
  readonly size: number
}

/** Returns a list in the order of a file: the first value head of all key heads, then the second, and so on. */
function tile<T>(items: readonly T[], { start, keyHeads, perKey, size }: Layout): T[] {
  const heads = Array.from({ length: perKey }, (_, r) => Array.from({ length: keyHeads }, (_, k) => k * perKey + r))
  const at = (head: number) => start + head * size
  return [...items.slice(0, start), ...heads.flat().flatMap(head => items.slice(at(head), at(head) + size))]
}

/** Encodes whole numbers from -127 to 127 as Q8_0 with the scale 1. */
function q8(values: readonly number[]): Buffer {
  const blocks = Array.from({ length: values.length / 32 }, (_, block) => [
    0,
    0x3c,
    ...values.slice(block * 32, (block + 1) * 32).map(value => value & 255)
  ])
  return Buffer.from(blocks.flat())
}

const layouts = fc.record({
  axis: fc.constantFrom('rows' as const, 'columns' as const),
  start: fc.nat(5),
  keyHeads: fc.integer({ min: 1, max: 4 }),
  perKey: fc.integer({ min: 1, max: 3 }),
  size: fc.constantFrom(1, 2, 16, 32)
})

t.test(
  'value heads are read in the order of checkpoints, whichever part is read and however it is encoded',
  async t => {
    const path = join(await temporaryFolder(t), 'tensor.bin')
    await fc.assert(
      fc.asyncProperty(layouts, fc.boolean(), fc.nat(1000), fc.nat(1000), async (drawn, encoded, from, to) => {
        const isColumns = drawn.axis === 'columns'
        const layout = { ...drawn, start: isColumns ? 0 : drawn.start, keyHeads: encoded ? 4 : drawn.keyHeads }
        const { start, keyHeads, perKey, size } =
          encoded && isColumns ? { ...layout, size: Math.max(8, layout.size) } : layout
        const used = { ...layout, size }
        const ordered = start + keyHeads * perKey * size
        const [rows, columns] = isColumns ? [3, ordered] : [ordered, encoded ? 32 : 3]
        const model = Array.from({ length: rows }, (_, row) =>
          Array.from({ length: columns }, (_, column) => ((row * 31 + column * 7) % 255) - 127)
        )
        const stored = isColumns ? model.map(row => tile(row, used)) : tile(model, used)
        const flat = stored.flat()
        await writeFile(path, encoded ? q8(flat) : Buffer.from(Float32Array.from(flat).buffer))
        const entry = {
          name: 'x',
          dtype: 'F32' as const,
          shape: [rows, columns],
          file: path,
          offset: 0,
          byteLength: encoded ? (flat.length / 32) * 34 : flat.length * 4,
          tiled: used,
          ...(encoded ? { encoding: 'Q8_0' as const } : {})
        }
        const first = from % flat.length
        const target = new Float32Array(1 + (to % (flat.length - first)))
        const reader = new TensorReader()
        await reader.read(entry, first, target)
        await reader.close()
        t.same([...target], model.flat().slice(first, first + target.length))
      }),
      { numRuns: 60 }
    )
  }
)

t.test('a decay rate is the logarithm of the negated value, and other values are refused', async t => {
  const path = join(await temporaryFolder(t), 'decay.bin')
  const read = async (values: readonly number[]) => {
    await writeFile(path, Buffer.from(Float32Array.from(values).buffer))
    const reader = new TensorReader()
    const target = new Float32Array(values.length)
    const shape = [values.length]
    const place = { name: 'blk.0.ssm_a', dtype: 'F32' as const, file: path, offset: 0, byteLength: 4 * values.length }
    try {
      await reader.read({ ...place, shape, negatedExponential: true }, 0, target)
    } finally {
      await reader.close()
    }
    return [...target]
  }
  t.same(await read([-1, -2]), [0, Math.fround(Math.log(2))])
  for (const value of [0, 2]) {
    await t.rejects(read([-1, value]), { code: 'INF_RUN_DIR_TENSOR_INVALID', message: /at element 1/ })
  }
})

async function configure(change: Record<string, unknown>) {
  const file = await readGguf(join(folder, 'qwen3_5.gguf'))
  const metadata = new Map(file.metadata)
  for (const [key, value] of Object.entries(change)) metadata.set(`qwen35.${key}`, value as number)
  return ggufConfiguration({ ...file, metadata }, 300)
}

t.test('linear layers are those that the file names, or all but every n-th', async t => {
  const kinds = async (change: Record<string, unknown>) =>
    ((await configure(change)).configuration.layer_types as string[]).map(kind => kind.charAt(0)).join('')
  t.equal(await kinds({}), 'lllf')
  t.equal(await kinds({ full_attention_interval: 2 }), 'lflf')
  t.equal(await kinds({ 'attention.recurrent_layers': [true, false, true, false] }), 'lflf')
})

t.test('layers that predict further tokens are left out', async t => {
  const { configuration, shape, layout } = await configure({ block_count: 5, nextn_predict_layers: 1 })
  t.equal(configuration.num_hidden_layers, 4)
  const { path, tensors } = await readGguf(join(folder, 'qwen3_5.gguf'))
  const [entry] = tensors.values()
  const more = new Map([...tensors, ['blk.4.nextn.eh_proj.weight', entry!], ['blk.4.attn_norm.weight', entry!]])
  t.same([...checkpointTensors(path, more, layout, shape).keys()].length, tensors.size)
})

for (const [what, change, code, message] of [
  ['more further layers than layers', { nextn_predict_layers: 4 }, 'INF_RUN_DIR_MALFORMED', /leaves 0 layers/],
  ['values that heads cannot share', { 'ssm.inner_size': 33 }, 'INF_RUN_DIR_MALFORMED', /33 is not a multiple/],
  ['no state size', { 'ssm.state_size': 0 }, 'INF_RUN_DIR_MALFORMED', /ssm\.state_size/],
  [
    'kinds for fewer layers than there are',
    { 'attention.recurrent_layers': [true] },
    'INF_RUN_DIR_MALFORMED',
    /not a list of 4 truth values/
  ],
  ['billions of layers', { block_count: 2 ** 31 - 1 }, 'INF_ARCHITECTURE_UNSUPPORTED', /block_count 2147483647/]
] as const) {
  t.test(`refuses ${what}, naming the key`, async t => {
    await t.rejects(configure(change), { code, message })
  })
}

t.test(
  'a model with linear attention answers the same with quantised weights, in one run with another, and after reuse',
  async t => {
    const engine = await openEngine(t)
    const model = await engine.load({ runDirectory: join(folder, 'qwen3_5.gguf'), quantization: 'q8', slots: 2 })
    t.teardown(() => model.close())
    const prompts = [7, 80].map(length => Array.from({ length }, (_, index) => ((index * 37 + 11) % 297) + 3))
    const run = (prompt: readonly number[]) => collect(model.generate(greedy(prompt, 12)))
    const alone = []
    for (const prompt of prompts) alone.push((await run(prompt)).tokens)
    t.same(
      (await Promise.all(prompts.map(run))).map(({ tokens }) => tokens),
      alone
    )
    t.equal(model.info.family, 'qwen3_5_text')
  }
)
