import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { locateFiles, widen } from '#weights'
import { collect, fixtures, greedy, loadModel, openEngine, readExpected, temporaryFolder } from './support/models.ts'

t.test('converts every float16 number exactly', async t => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i)
  const wide = new Float32Array(65536)
  widen('F16', new Uint8Array(bits.buffer), wide)
  const reference = (half: number) => {
    const [sign, exponent, fraction] = [half & 0x8000 ? -1 : 1, (half >> 10) & 31, half & 1023]
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
    return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
  }
  t.ok(bits.every((_, half) => Object.is(wide[half], reference(half))))
})

t.test('converts every bfloat16 number exactly', async t => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i)
  const wide = new Float32Array(65536)
  widen('BF16', new Uint8Array(bits.buffer), wide)
  const back = new Uint32Array(wide.buffer)
  t.ok(bits.every((_, i) => Number.isNaN(wide[i]) || back[i] === i * 65536))
})

t.test('F32 weights without an adapter are used in place, and nothing is written', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  await loadModel(t, { name: 'qwen2-tiny', engine: { cacheDirectory } })
  t.same(
    (await readdir(cacheDirectory)).filter(name => name !== 'digests'),
    []
  )
})

t.test('writes converted weights once, and reuses them', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  const weights = async () => (await readdir(cacheDirectory)).filter(name => name.endsWith('.f32'))
  const steps: string[] = []
  const onProgress = (_: number, step: string) => void steps.push(step)
  await loadModel(t, { engine: { cacheDirectory }, onProgress })
  const [file] = await weights()
  const { mtimeMs } = await stat(join(cacheDirectory, file!))
  t.ok(steps.includes('converting the weights'))
  steps.length = 0
  await loadModel(t, { engine: { cacheDirectory }, onProgress })
  t.equal((await stat(join(cacheDirectory, file!))).mtimeMs, mtimeMs)
  t.notOk(steps.includes('converting the weights'))
  await loadModel(t, { engine: { cacheDirectory }, adapter: false })
  t.equal((await weights()).length, 2, 'the base model has a separate file')
  t.notOk((await readdir(cacheDirectory)).some(name => name.endsWith('.partial')))
})

t.test('concurrent loads share one cache', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  const models = await Promise.all([1, 2, 3].map(() => loadModel(t, { engine: { cacheDirectory } })))
  const texts = await Promise.all(models.map(model => collect(model.generate(greedy([9, 8], 6)))))
  t.same(texts[1]?.tokens, texts[0]?.tokens)
  t.same(texts[2]?.tokens, texts[0]?.tokens)
  t.equal((await readdir(cacheDirectory)).filter(name => name.endsWith('.f32')).length, 1)
})

t.test('files of a crashed process are removed after a day', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  await mkdir(cacheDirectory)
  const [old, young] = ['.old.partial', '.young.partial'].map(name => join(cacheDirectory, name)) as [string, string]
  await writeFile(old, '')
  await writeFile(young, '')
  await utimes(old, 1, 1)
  await loadModel(t, { engine: { cacheDirectory } })
  t.same(
    (await readdir(cacheDirectory)).filter(name => name.endsWith('.partial')),
    ['.young.partial']
  )
})

for (const runtime of ['native', 'worker'] as const) {
  t.test(`converted weights stay in memory if the cache is not writable (${runtime} runtime)`, async t => {
    const blocked = join(await temporaryFolder(t), 'file')
    await writeFile(blocked, '')
    const warnings: string[] = []
    const model = await loadModel(t, {
      engine: { runtime, cacheDirectory: join(blocked, 'cache'), onWarning: message => void warnings.push(message) }
    })
    t.match(warnings, [/stay in memory/])
    const { prompts } = await readExpected('llama-tiny-bf16')
    const { tokens, variants } = prompts[0]!
    const { greedy: wanted } = variants.adapter!
    t.same((await collect(model.generate(greedy(tokens, wanted.length)))).tokens, wanted)
  })
}

t.test('a load can be cancelled at every step and leaves no partial file', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  const engine = await openEngine(t, { cacheDirectory })
  const runDirectory = join(fixtures, 'llama-tiny-bf16')
  for (const stop of [
    'reading the run directory',
    'hashing the files',
    'converting the weights',
    'building the session'
  ]) {
    const abort = new AbortController()
    const load = engine.load({
      runDirectory,
      signal: abort.signal,
      onProgress: (_, step) => void (step === stop && abort.abort())
    })
    await t.rejects(load, { code: 'INF_LOAD_CANCELLED', message: runDirectory }, stop)
    t.notOk((await readdir(cacheDirectory).catch(() => [])).some(name => name.endsWith('.partial')))
  }
  const model = await engine.load({ runDirectory })
  t.equal((await collect(model.generate(greedy([9], 2)))).tokens.length, 2)
  await model.close()
})

t.test('progress increases from 0 to 1', async t => {
  const seen: number[] = []
  await loadModel(t, { onProgress: fraction => void seen.push(fraction) })
  t.equal(seen[0], 0)
  t.equal(seen.at(-1), 1)
  t.ok(seen.every((fraction, i) => i === 0 || fraction >= seen[i - 1]!))
})

t.test('files are located relative to their deepest common folder', async t => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'a', 'b'), { recursive: true })
  await writeFile(join(folder, 'a', 'b', 'one'), '')
  await writeFile(join(folder, 'a', 'two'), '')
  const locations = await locateFiles(
    [join(folder, 'a', 'b', 'one'), join(folder, 'a', 'two')],
    join(folder, 'a', 'c', 'new')
  )
  t.equal(locations.folder, join(folder, 'a'))
  t.equal(locations.of(join(folder, 'a', 'b', 'one')), 'b/one')
  t.equal(locations.of(join(folder, 'a', 'c', 'new')), 'c/new')
  t.equal(locations.of('/elsewhere'), null)
})

t.test('reports parameters, size and adapter of the files', async t => {
  const { info } = await loadModel(t)
  t.match(info, {
    family: 'llama',
    precision: 'BF16',
    device: 'cpu',
    parameters: 147_264,
    contextLength: 256,
    vocabularySize: 300,
    adapter: { rank: 4, alpha: 6, targets: ['q', 'k', 'v', 'o', 'gate', 'up', 'down', 'lm_head'] }
  })
  const folder = join(fixtures, 'llama-tiny-bf16')
  const sizes = await Promise.all(
    (await readdir(folder)).map(async name => (await readFile(join(folder, name))).length)
  )
  t.equal(
    info.sizeBytes,
    sizes.reduce((a, b) => a + b, 0)
  )
  const base = await loadModel(t, { adapter: false })
  t.equal(base.info.adapter, null)
  t.not(base.info.digest, info.digest)
})
