import { rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type ExternalTensor, OnnxGraph } from '#onnx'
import { findLibrary, type Koffi, NativeRuntime, OrtApi, type OrtSession, ownRequire } from '#ort'
import { temporaryFolder } from '../support/models.ts'

const ROWS = 8192
const COLUMNS = 1024
const BYTES = ROWS * COLUMNS * 4
const weight: ExternalTensor = {
  name: 'weight',
  shape: [ROWS, COLUMNS],
  location: 'weights',
  offset: 0,
  byteLength: BYTES
}
const values = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => ((i * 7919) % 1009) / 1009 - 0.5)
const input = Float32Array.from({ length: COLUMNS }, (_, i) => (i % 13) - 6)
const expected = Array.from({ length: ROWS }, (_, row) =>
  input.reduce((sum, x, i) => sum + x * (values[row * COLUMNS + i] as number), 0)
)

function runtime(): NativeRuntime {
  return new NativeRuntime(new OrtApi(ownRequire()('koffi') as Koffi, findLibrary(ownRequire())))
}

function product({ shape: [rows = 0], ...rest }: ExternalTensor = weight): Uint8Array {
  const graph = new OnnxGraph('product')
  graph.input('input', 'float32', ['rows', COLUMNS])
  graph.contrib('FusedMatMul', ['input', graph.external({ ...rest, shape: [rows, COLUMNS] })], ['output'], {
    transB: 1
  })
  graph.output('output', 'float32', ['rows', rows])
  return graph.toBytes()
}

async function multiply(opened: NativeRuntime, session: OrtSession, rows = ROWS): Promise<readonly number[]> {
  const [from, to] = [opened.host('float32', [1, COLUMNS]), opened.host('float32', [1, rows])]
  from.data.set(input)
  const binding = session.bind({ input: from }, { output: to })
  await binding.run()
  const result = [...to.data]
  binding.release()
  from.release()
  to.release()
  return result
}

const isClose = (result: readonly number[]) => result.every((value, i) => Math.abs(value - expected[i]!) < 1e-2)

for (const kept of ['a file', 'memory'] as const) {
  t.test(`sessions that share weights have them in memory once (weights in ${kept})`, async t => {
    const folder = await temporaryFolder(t)
    if (kept === 'a file') await writeFile(join(folder, 'weights'), new Uint8Array(values.buffer))
    const inMemory = new Map(kept === 'a file' ? [] : [['weights', new Uint8Array(values.buffer)] as const])
    const opened = runtime()
    const share = opened.shareWeights()
    if (share === null) throw new Error('weights cannot be shared on this system')
    const options = { model: product(), weights: { folder, inMemory, tensors: [weight] }, threads: 1, share }
    const first = await opened.createSession(options)
    const before = process.memoryUsage.rss()
    const others = [await opened.createSession(options), await opened.createSession(options)]
    const grown = process.memoryUsage.rss() - before
    t.ok(grown < BYTES, `two more sessions need ${grown} bytes, which is less than one copy of ${BYTES} bytes`)
    for (const session of [first, ...others]) t.ok(isClose(await multiply(opened, session)))
    await first.close()
    t.ok(isClose(await multiply(opened, others[0]!)), 'the weights outlive the session that packed them')
    for (const session of others) await session.close()
    share.release()
  })
}

t.test('a session whose weights cannot be mapped reports the missing file', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'weights'), new Uint8Array(values.buffer))
  await rm(join(folder, 'weights'))
  const opened = runtime()
  const share = opened.shareWeights()
  const weights = { folder, inMemory: new Map(), tensors: [weight] }
  await t.rejects(opened.createSession({ model: product(), weights, threads: 1, share }), {
    code: 'INF_RUNTIME_FAILED',
    message: /weights/
  })
  share?.release()
})

const small: ExternalTensor = { ...weight, shape: [8, COLUMNS], byteLength: 8 * COLUMNS * 4 }
const smallModel = product(small)
const filled = (rows: number, value: number) => new Uint8Array(new Float32Array(rows * COLUMNS).fill(value).buffer)

t.test('a file that ends before a weight is reported, whether it was mapped before or not', async t => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'weights')
  const opened = runtime()
  const share = opened.shareWeights()
  const options = { model: smallModel, weights: { folder, inMemory: new Map(), tensors: [small] }, threads: 1, share }
  const reported = { code: 'INF_RUNTIME_FAILED', message: /weight/ }
  await writeFile(file, filled(4, 1))
  await t.rejects(opened.createSession({ ...options, weights: { ...options.weights, version: 'other' } }), reported)
  await writeFile(file, filled(8, 1))
  const session = await opened.createSession(options)
  await truncate(file, 4096)
  await t.rejects(opened.createSession(options), reported)
  await session.close()
  share?.release()
})

t.test('after a file was replaced, sessions of the old version have its old weights, others the new ones', async t => {
  const folder = await temporaryFolder(t)
  const opened = runtime()
  const share = opened.shareWeights()
  const open = (version: string) => {
    const weights = { folder, inMemory: new Map(), tensors: [small], version }
    return opened.createSession({ model: smallModel, weights, threads: 1, share })
  }
  await writeFile(join(folder, 'weights'), filled(8, 1))
  const sessions = [await open('1')]
  await writeFile(join(folder, 'next'), filled(8, 2))
  await rename(join(folder, 'next'), join(folder, 'weights'))
  sessions.push(await open('1'), await open('2'))
  const sum = input.reduce((total, x) => total + x, 0)
  const outputs = []
  for (const session of sessions) outputs.push(new Set(await multiply(opened, session, 8)))
  t.same(outputs, [new Set([sum]), new Set([sum]), new Set([2 * sum])])
  for (const session of sessions) await session.close()
  share?.release()
})
