import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { buildLowRankUpdate, OnnxGraph } from '#onnx'
import { type HostTensor, openRuntime, ownRequire, type Runtime, type Tensor } from '#ort'
import { familyDirectory } from './support/families.ts'
import { bareHost } from './support/hosts.ts'
import { collect, fixtures, greedy, loadModel, openEngine, temporaryFolder } from './support/models.ts'

t.test('ONNX Runtime collects no usage data for its vendor, and leaves no files for that', async t => {
  const folder = await temporaryFolder(t)
  const program = `
    import { openRuntime, ownRequire } from '#ort'
    openRuntime('native', ownRequire(), () => {})
  `
  const argv = [
    '--import',
    import.meta.resolve('tsx'),
    '--conditions=svc-source',
    '--input-type=module',
    '--eval',
    program
  ]
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const env = { ...process.env, TMPDIR: folder, ORT_DISABLE_TELEMETRY: undefined }
  await promisify(execFile)(process.execPath, argv, { cwd, env })
  t.same(
    (await readdir(folder)).filter(name => !name.startsWith('tsx-')),
    []
  )
})

t.test('rejects an unavailable device by name; best and auto select an available one', async t => {
  const gpu = { host: await bareHost(t) }
  const notes: string[] = []
  const engine = await openEngine(t, { gpu, onNote: note => void notes.push(note) })
  t.match(engine.name, /^onnxruntime 1\.\d+\.\d+$/)
  t.same(await engine.devices(), [{ id: 'cpu', description: (await engine.devices())[0]?.description }])
  const runDirectory = join(fixtures, 'qwen2-tiny')
  for (const device of ['cuda', 'cuda:1', 'metal', 'webgpu']) {
    await t.rejects(engine.load({ runDirectory, device }), {
      code: 'INF_DEVICE_UNAVAILABLE',
      message: new RegExp(`^Device ${device} is not available: .+; available: cpu$`)
    })
  }
  for (const device of ['auto', 'best', 'cpu']) {
    const model = await engine.load({ runDirectory, device })
    t.equal(model.info.device, 'cpu')
    await model.close()
  }
  t.match(notes, [/^Models run on the CPU: /], 'the fallback is logged once')
  const forced = await openEngine(t, { device: 'cuda', gpu })
  await t.rejects(forced.load({ runDirectory }), { code: 'INF_DEVICE_UNAVAILABLE' })
})

for (const [option, value] of [
  ['slots', 0],
  ['threads', 1.5],
  ['maxContext', -1]
] as const) {
  t.test(`${option} ${value} is rejected`, async t => {
    const engine = await openEngine(t)
    await t.rejects(engine.load({ runDirectory: join(fixtures, 'qwen2-tiny'), [option]: value }), {
      code: 'INF_OPTION_INVALID',
      message: new RegExp(`${option} is ${value}`)
    })
  })
}

for (const runtime of ['native', 'worker'] as const) {
  t.test(`${runtime}: the library's error message reaches the caller`, async t => {
    const opened = openRuntime(runtime, ownRequire(), () => {})
    t.teardown(() => opened.close())
    t.match(opened.name, /^onnxruntime 1\.\d+\.\d+/)
    const broken = { model: Uint8Array.of(1, 2, 3), weights: null, threads: 1 }
    await t.rejects(opened.createSession(broken), { code: 'INF_RUNTIME_FAILED', message: /protobuf|parse|[Ll]oad/ })
  })

  t.test(`${runtime}: every run reads and writes the bound memory`, async t => {
    const opened = openRuntime(runtime, ownRequire(), () => {})
    t.teardown(() => opened.close())
    const session = await opened.createSession({ model: buildLowRankUpdate(), weights: null, threads: 1 })
    const [weight, merged] = [opened.host('float32', [2, 3]), opened.host('float32', [2, 3])]
    const [a, b] = [opened.host('float32', [1, 3]), opened.host('float32', [2, 1])]
    const binding = session.bind({ weight, a, b }, { merged })
    a.data.set([1, 2, 3])
    b.data.set([1, 10])
    await binding.run()
    t.same([...merged.data], [1, 2, 3, 10, 20, 30])
    weight.data.fill(0.5)
    b.data[1] = 0
    await binding.run()
    t.same([...merged.data], [1.5, 2.5, 3.5, 0.5, 0.5, 0.5])
    await t.rejects(binding.run(AbortSignal.abort()))
    await binding.run()
    binding.release()
    await session.close()
  })
}

/** Opens a session that copies a state, and returns it with a function that runs it. */
async function openCopy(runtime: Runtime) {
  const graph = new OnnxGraph('copy')
  const shape = ['rows', 'heads', 'positions', 'size']
  graph.node('Identity', [graph.input('from', 'float32', shape)], 'to')
  graph.output('to', 'float32', shape)
  const session = await runtime.createSession({ model: graph.toBytes(), weights: null, threads: 1 })
  const run = async (from: Tensor, to: Tensor) => {
    const binding = session.bind({ from }, { to })
    await binding.run()
    binding.release()
  }
  return { session, run }
}

for (const runtime of ['native', 'worker'] as const) {
  t.test(`${runtime}: states keep what runs write, in views of rows and in copies of positions`, async t => {
    const opened = openRuntime(runtime, ownRequire(), () => {})
    t.teardown(() => opened.close())
    const { session, run } = await openCopy(opened)
    const [small, large] = [await opened.state([2, 2, 3, 2]), await opened.state([3, 2, 5, 2])]
    const source = opened.host('float32', [1, 2, 3, 2])
    source.data.set(Array.from({ length: 12 }, (_, index) => index + 1))
    const second = opened.view(small, 1, 1)
    await run(source, second)
    second.release()
    await opened.copy({ state: small, row: 1, start: 1, end: 3 }, { state: large, row: 2 })
    const found = opened.host('float32', [3, 2, 5, 2])
    await run(large, found)
    const head = (...values: number[]) => [0, 0, ...values, 0, 0, 0, 0]
    t.same([...found.data], [...Array(40).fill(0), ...head(3, 4, 5, 6), ...head(9, 10, 11, 12)])
    for (const tensor of [small, large, source, found]) tensor.release()
    await session.close()
  })
}

t.test('a state of the CPU needs memory only where it is written', async t => {
  const opened = openRuntime('native', ownRequire(), () => {})
  t.teardown(() => opened.close())
  t.equal(opened.reservesStates, process.platform === 'linux' || process.platform === 'darwin')
  if (opened.reservesStates !== true) return
  const before = process.memoryUsage().rss
  // Two rows of 8 GB.
  const state = await opened.state([2, 8, 4_000_000, 64])
  await opened.copy({ state, row: 0, start: 0, end: 100 }, { state, row: 1 })
  await opened.copy({ state, row: 1, start: 0, end: 100 }, { state, row: 0 })
  const added = process.memoryUsage().rss - before
  state.release()
  t.ok(added < 2 ** 30, `${added} bytes`)
  await t.rejects(opened.state([2 ** 20, 2 ** 10, 2 ** 10, 2 ** 10]), { message: /does not provide/ })
})

t.test('memory that a state gives back does not change other positions, heads and rows', async t => {
  const opened = openRuntime('native', ownRequire(), () => {})
  t.teardown(() => opened.close())
  const { discard } = opened
  if (discard === undefined) return t.equal(process.platform === 'linux', false)
  const [rows, heads, size] = [2, 3, 16]
  const { session, run } = await openCopy(opened)
  const ranges = fc.tuple(fc.integer({ min: 1, max: 900 }), fc.nat(900), fc.nat(900), fc.nat(rows - 1))
  await fc.assert(
    fc.asyncProperty(ranges, async ([positions, one, other, row]) => {
      const [start, end] = [one % positions, other % (positions + 1)].sort((a, b) => a - b) as [number, number]
      const state = await opened.state([rows, heads, positions, size])
      const [ones, found] = [0, 1].map(() => opened.host('float32', [rows, heads, positions, size])) as [
        HostTensor<'float32'>,
        HostTensor<'float32'>
      ]
      ones.data.fill(1)
      await run(ones, state)
      discard({ state, row, start, end })
      await run(state, found)
      const changed = [...found.data.keys()].filter(at => found.data[at] !== 1)
      const isInside = (at: number) => {
        const position = Math.floor(at / size) % positions
        return Math.floor(at / (heads * positions * size)) === row && position >= start && position < end
      }
      for (const tensor of [state, ones, found]) tensor.release()
      return changed.every(isInside)
    }),
    { numRuns: 30 }
  )
  await session.close()
})

t.test('a row gives back the memory of a long text, and the next text does not change', async t => {
  const engine = await openEngine(t, { promptChunk: 512 })
  const config = (document: Record<string, unknown>) => ({ ...document, max_position_embeddings: 4096 })
  const runDirectory = await familyDirectory(t, 'qwen3', { config })
  const model = await engine.load({ runDirectory })
  t.teardown(() => model.close())
  const long = Array.from({ length: 2500 }, (_, index) => 3 + (index % 290))
  const short = [9, 8, 7, 6, 5]
  const { tokens: before } = await collect(model.generate(greedy(short, 12)))
  await collect(model.generate(greedy(long, 3)))
  const { cacheBytes } = model.statistics()
  t.same((await collect(model.generate(greedy(short, 12)))).tokens, before)
  if (process.platform === 'linux') t.ok(model.statistics().cacheBytes < cacheBytes / 10)
  const { tokens } = await collect(model.generate(greedy(long, 3)))
  const fresh = await engine.load({ runDirectory })
  t.teardown(() => fresh.close())
  t.same(tokens, (await collect(fresh.generate(greedy(long, 3)))).tokens)
})

t.test('a load that fails after the session was built frees its weights', async t => {
  const cacheDirectory = join(await temporaryFolder(t), 'cache')
  // The logits of so many drafted tokens need more memory than any machine has.
  const engine = await openEngine(t, { cacheDirectory, speculation: 2 ** 45 })
  await t.rejects(engine.load({ runDirectory: join(fixtures, 'llama-tiny-bf16') }))
  if (process.platform !== 'linux') return
  const mapped = async () => (await readFile('/proc/self/maps', 'utf8')).includes(cacheDirectory)
  t.equal(await mapped(), false)
  const model = await (await openEngine(t, { cacheDirectory })).load({
    runDirectory: join(fixtures, 'llama-tiny-bf16')
  })
  t.equal(await mapped(), true)
  await model.close()
  t.equal(await mapped(), false)
})

t.test('if the C interface cannot be called, a worker thread computes the same tokens', async t => {
  const root = await temporaryFolder(t)
  const packages = join(root, 'node_modules')
  await mkdir(join(packages, 'koffi'), { recursive: true })
  await writeFile(join(packages, 'koffi', 'package.json'), '{"name":"koffi","main":"index.js"}')
  await writeFile(join(packages, 'koffi', 'index.js'), 'throw new Error("no native part for this machine")')
  await mkdir(join(packages, 'onnxruntime-node'), { recursive: true })
  await writeFile(
    join(packages, 'onnxruntime-node', 'package.json'),
    JSON.stringify({ name: 'onnxruntime-node', version: '1.0.0', main: 'index.js' })
  )
  await writeFile(
    join(packages, 'onnxruntime-node', 'index.js'),
    `module.exports = require(${JSON.stringify(ownRequire().resolve('onnxruntime-node'))})`
  )
  const warnings: string[] = []
  const require = createRequire(join(root, 'package.json'))
  const engine = { require, onWarning: (_: string, reason: Error) => void warnings.push(reason.message) }
  const fallback = await loadModel(t, { engine })
  t.same(warnings, ['no native part for this machine'])
  const native = await loadModel(t)
  const request = { tokens: [9, 8, 7], maxTokens: 40, ignoreEos: true, sampling: { temperature: 1, seed: 5 } }
  const [wanted, got] = [await collect(native.generate(request)), await collect(fallback.generate(request))]
  t.same(got.tokens, wanted.tokens)
  t.equal(got.text, wanted.text)

  await t.rejects(loadModel(t, { engine: { ...engine, runtime: 'native' } }), {
    code: 'INF_RUNTIME_UNAVAILABLE',
    message: /no native part/
  })
  await t.rejects(loadModel(t, { engine: { require: createRequire('/package.json'), runtime: 'worker' } }), {
    code: 'INF_RUNTIME_UNAVAILABLE'
  })
})

t.test('if the worker ends, its runs fail instead of waiting forever', async t => {
  const opened = openRuntime('worker', ownRequire(), () => {})
  const session = await opened.createSession({ model: buildLowRankUpdate(), weights: null, threads: 1 })
  const one = opened.host('float32', [1, 1])
  const binding = session.bind({ weight: one, a: one, b: one }, { merged: opened.host('float32', [1, 1]) })
  // The first run may have ended already; with so many in the queue, the last one cannot.
  const runs = Array.from({ length: 500 }, () => binding.run())
  const settled = Promise.allSettled(runs)
  await opened.close()
  const last = (await settled).at(-1)
  t.match(last, { status: 'rejected', reason: { code: 'INF_RUNTIME_FAILED', message: /worker thread ended/ } })
  await t.rejects(binding.run(), { code: 'INF_RUNTIME_FAILED', message: /worker thread ended/ })
})

for (const runtime of ['native', 'worker'] as const) {
  t.test(`models survive the engine that loaded them (${runtime} runtime)`, async t => {
    const engine = await openEngine(t, { runtime })
    const models = [
      await engine.load({ runDirectory: join(fixtures, 'qwen2-tiny') }),
      await engine.load({ runDirectory: join(fixtures, 'qwen2-tiny') })
    ]
    await engine.close()
    for (const model of models) {
      t.equal((await collect(model.generate(greedy([9, 8], 4)))).tokens.length, 4)
      await model.close()
    }
  })
}

t.test('a native run can be aborted, and its binding can be used again', async t => {
  const opened = openRuntime('native', ownRequire(), () => {})
  const session = await opened.createSession({ model: buildLowRankUpdate(), weights: null, threads: 1 })
  const [rows, rank, columns] = [2000, 64, 2000]
  const [weight, merged] = [opened.host('float32', [rows, columns]), opened.host('float32', [rows, columns])]
  const [a, b] = [opened.host('float32', [rank, columns]), opened.host('float32', [rows, rank])]
  const binding = session.bind({ weight, a, b }, { merged })
  const abort = new AbortController()
  const run = binding.run(abort.signal)
  abort.abort()
  // The library may notice the abort only at its last operator; the binding must work afterwards.
  await run.catch(() => {})
  weight.data.fill(2)
  await binding.run()
  t.equal(merged.data[0], 2)
  binding.release()
  await session.close()
})
