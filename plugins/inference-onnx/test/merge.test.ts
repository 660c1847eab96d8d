import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type MergeOptions, mergeAdapter } from '#merge'
import { elementCount } from '#ort'
import { readRunDirectory, readSafetensors } from '#root'
import { TensorReader } from '#weights'
import { fixtures, openEngine, temporaryFolder } from './support/models.ts'
import { floats, safetensors } from './support/safetensors.ts'

type Test = Parameters<typeof temporaryFolder>[0] & { rejects: typeof t.rejects }

const LLAMA = 'llama-tiny-bf16'
const HANDOFF = 'external_serving_handoff_v1.json'
const TOKENS = [1, 5, 9, 42, 7]

async function copyOf(t: Test): Promise<string> {
  const folder = join(await temporaryFolder(t), LLAMA)
  await cp(join(fixtures, LLAMA), folder, { recursive: true })
  return folder
}

async function opened(t: Test) {
  const engine = await openEngine(t)
  const common = { runtime: engine.openRuntime(), threads: 1 }
  const merge = (options: Omit<MergeOptions, 'runtime' | 'threads' | 'experimental'> & Partial<MergeOptions>) =>
    mergeAdapter({ experimental: false, ...common, ...options })
  const logits = async (runDirectory: string, adapter?: string): Promise<Float32Array[]> => {
    const model = await engine.load({ runDirectory, quantization: 'none' })
    t.teardown(() => model.close())
    if (adapter !== undefined) await model.adapters?.add({ name: 'a', directory: adapter })
    return model.logits(TOKENS, ...(adapter === undefined ? [] : [{ adapter: 'a' }]))
  }
  return { merge, logits }
}

async function wide(file: string, name: string): Promise<Float32Array> {
  const entry = (await readSafetensors(file)).tensors.get(name)
  if (entry === undefined) throw new Error(`${file} has no ${name}`)
  const values = new Float32Array(elementCount(entry.shape))
  const reader = new TensorReader()
  await reader.read(entry, 0, values)
  await reader.close()
  return values
}

function difference(one: readonly Float32Array[], other: readonly Float32Array[]): number {
  return Math.max(...one.flatMap((row, at) => [...row].map((value, i) => Math.abs(value - (other[at]?.[i] ?? 1e9)))))
}

t.test('merged weights answer as the adapter does, without it', async t => {
  const folder = await copyOf(t)
  const { merge, logits } = await opened(t)
  const adapted = await logits(folder)
  const seen: string[] = []
  const merged = await merge({
    runDirectory: folder,
    onProgress: (done, total, name) => seen.push(`${done}/${total} ${name}`)
  })
  t.equal(merged.output, join(folder, 'merged.safetensors'))
  const labels = (await readRunDirectory(folder, { adapter: false })).tensors.size
  t.ok(merged.tensors.length > 0 && merged.tensors.length < labels)
  t.equal(seen.length, merged.tensors.length)
  t.equal(seen.at(-1), `${seen.length}/${seen.length} ${merged.tensors.at(-1)}`)
  t.equal((await readFile(merged.output)).byteLength, merged.bytes)
  for (const file of ['candle_qlora_adapter.safetensors', 'adapter_manifest.json']) await rm(join(folder, file))
  t.ok(difference(await logits(folder), adapted) < 1e-5)
  await rm(merged.output)
  t.ok(difference(await logits(folder), adapted) > 1e-2, 'the base weights answer differently')
})

t.test('each merged tensor is W + alpha / rank * B * A', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const { output } = await merge({ runDirectory: folder })
  const { rank, alpha, base_key_map } = JSON.parse(await readFile(join(folder, 'adapter_manifest.json'), 'utf8'))
  const [label, tensor] = Object.entries(base_key_map as Record<string, string>)[0] as [string, string]
  const adapter = join(folder, 'candle_qlora_adapter.safetensors')
  const [w, a, b] = await Promise.all([
    wide(join(folder, 'model.safetensors'), tensor),
    wide(adapter, `${label}.lora_a.weight`),
    wide(adapter, `${label}.lora_b.weight`)
  ])
  const columns = a.length / rank
  const expected = w.map((value, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns]
    let sum = 0
    for (let r = 0; r < rank; r++) sum += (b[row * rank + r] as number) * (a[r * columns + column] as number)
    return value + (alpha / rank) * sum
  })
  t.ok(difference([await wide(output, tensor)], [expected]) < 1e-6)
})

t.test('a PEFT adapter is merged into another file', async t => {
  const folder = await copyOf(t)
  for (const file of ['candle_qlora_adapter.safetensors', 'adapter_manifest.json', HANDOFF])
    await rm(join(folder, file))
  const adapter = join(fixtures, 'peft', 'all-linear')
  const { merge, logits } = await opened(t)
  const adapted = await logits(folder, adapter)
  const output = join(await temporaryFolder(t), 'other.safetensors')
  const { handoff } = await merge({ runDirectory: folder, adapter, output })
  t.notOk((await readdir(folder)).includes('merged.safetensors'))
  t.match(JSON.parse(await readFile(handoff, 'utf8')), {
    schema: 'vox_external_serving_handoff_v1',
    backend_family: 'other',
    artifact_dir: join(output, '..'),
    tokenizer_source: join(folder, 'tokenizer.json'),
    adapter_path: null,
    notes: /^other\.safetensors has only the tensors that the adapter changed/
  })
  await cp(output, join(folder, 'merged.safetensors'))
  t.ok(difference(await logits(folder), adapted) < 1e-4)
})

t.test('the handoff keeps what the one of the training states, and is valid', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const before = (await readRunDirectory(folder, { adapter: true })).handoff
  await merge({ runDirectory: folder })
  const after = (await readRunDirectory(folder, { adapter: true })).handoff
  t.match(after, { backend_family: 'other', prompt_format: before?.prompt_format, base_model: before?.base_model })
})

t.test('an existing file is replaced only on request', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  await writeFile(join(folder, 'merged.safetensors'), safetensors({ 'model.norm.weight': floats([64], () => 1) }))
  await t.rejects(merge({ runDirectory: folder }), { code: 'INF_MERGE_EXISTS', hint: /--replace/ })
  t.ok((await merge({ runDirectory: folder, replace: true })).tensors.length > 1)
})

t.test('a merge that is aborted leaves nothing', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const before = await readdir(folder)
  const abort = new AbortController()
  const merging = merge({
    runDirectory: folder,
    signal: abort.signal,
    onProgress: () => abort.abort(new Error('enough'))
  })
  await t.rejects(merging, { message: 'enough' })
  t.same(await readdir(folder), before)
})

t.test('a folder that cannot be written is named', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const output = join(folder, 'nothing', 'merged.safetensors')
  await t.rejects(merge({ runDirectory: folder, output }), { code: 'INF_MERGE_UNWRITABLE', message: output })
  const inFile = join(folder, 'tokenizer.json', 'merged.safetensors')
  await t.rejects(merge({ runDirectory: folder, output: inFile }), { code: 'INF_MERGE_UNWRITABLE', message: inFile })
})

for (const [what, edit, code, message] of [
  [
    'no adapter',
    async (folder: string) => {
      for (const file of ['candle_qlora_adapter.safetensors', 'adapter_manifest.json']) await rm(join(folder, file))
    },
    'INF_ADAPTER_INVALID',
    /it contains no adapter/
  ],
  [
    'metadata of another format',
    (folder: string) => writeFile(join(folder, 'adapter_manifest.json'), '{"format":"other","rank":4,"alpha":8}'),
    'INF_ADAPTER_INVALID',
    /format is "other"/
  ],
  [
    'an adapter of another model',
    (folder: string) =>
      writeFile(
        join(folder, 'candle_qlora_adapter.safetensors'),
        safetensors({
          'l9.q.lora_a.weight': floats([4, 64], () => 0),
          'l9.q.lora_b.weight': floats([128, 4], () => 0)
        })
      ),
    'INF_ADAPTER_INVALID',
    /missing|unknown/
  ],
  [
    'weights that are no safetensors',
    (folder: string) => writeFile(join(folder, 'model.safetensors'), 'PK\x03\x04 a pickle'),
    'INF_RUN_DIR_MALFORMED',
    /model\.safetensors/
  ]
] as const) {
  t.test(`${what}: the merge is refused, and leaves nothing`, async t => {
    const folder = await copyOf(t)
    const { merge } = await opened(t)
    await edit(folder)
    const before = await readdir(folder)
    await t.rejects(merge({ runDirectory: folder }), { code, message })
    t.same(await readdir(folder), before)
  })
}

t.test('base weights that are missing, or have no floating-point type, are named', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const name = 'model.layers.0.self_attn.q_proj.weight'
  await writeFile(join(folder, 'adapter_manifest.json'), '{"rank":4,"alpha":8,"layer_order":["l0.q"]}')
  const factors = {
    'l0.q.lora_a.weight': floats([4, 64], () => 0),
    'l0.q.lora_b.weight': floats([128, 4], () => 0)
  }
  await writeFile(join(folder, 'candle_qlora_adapter.safetensors'), safetensors(factors))
  await writeFile(join(folder, 'model.safetensors'), safetensors({ 'model.norm.weight': floats([64], () => 1) }))
  await t.rejects(merge({ runDirectory: folder }), { code: 'INF_RUN_DIR_TENSOR_MISSING', message: name })
  const bytes = { dtype: 'I8', shape: [128, 64], data: new Uint8Array(128 * 64) }
  await writeFile(join(folder, 'model.safetensors'), safetensors({ [name]: bytes }))
  await t.rejects(merge({ runDirectory: folder }), {
    code: 'INF_RUN_DIR_TENSOR_INVALID',
    message: /q_proj\.weight is I8/
  })
})

t.test('an exported graph takes no adapter', async t => {
  const { merge } = await opened(t)
  const runDirectory = join(await temporaryFolder(t), 'exported')
  await cp(join(fixtures, 'exported', 'optimum'), runDirectory, { recursive: true })
  const merging = merge({ runDirectory, adapter: join(fixtures, 'peft', 'all-linear') })
  await t.rejects(merging, { code: 'INF_ADAPTER_INVALID', message: /exported graph/ })
})

t.test('an adapter of an optimizer experiment is merged only with the guard', async t => {
  const folder = await copyOf(t)
  const { merge } = await opened(t)
  const manifest = join(folder, 'training_manifest.json')
  await writeFile(manifest, '{"optimizer_experiment_mode": "muon"}')
  await t.rejects(merge({ runDirectory: folder }), { code: 'INF_EXPERIMENTAL_OPTIMIZER', message: /"muon"/ })
  t.notOk((await readdir(folder)).includes('merged.safetensors'))
  await writeFile(manifest, '{')
  await t.rejects(merge({ runDirectory: folder }), { code: 'INF_RUN_DIR_MALFORMED' })
  await writeFile(manifest, '{"optimizer_experiment_mode": "off"}')
  await merge({ runDirectory: folder })
  await writeFile(manifest, '{"optimizer_experiment_mode": "muon"}')
  await merge({ runDirectory: folder, replace: true, experimental: true })
  t.ok((await readdir(folder)).includes('merged.safetensors'))
})
