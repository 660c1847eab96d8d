import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ownIdentity, type Quantization } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isCached, lockForWriting, writeCached } from '#weights'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { collect, greedy, loadModel, models, temporaryFolder } from './support/models.ts'

const run = promisify(execFile)
const script = (name: string) => join(import.meta.dirname, 'support', name)
const vox = join(models, 'vox-tiny')

async function cachedFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  return names.filter(name => /\.(f32|q8|q4)$/.test(name)).map(name => join(folder, name))
}

/** Loads with a cache; returns the first tokens, and whether the weights were packed. */
async function load(t: Test, cacheDirectory: string, quantization: Quantization) {
  const steps = new Set<string>()
  const model = await loadModel(t, {
    engine: { cacheDirectory },
    quantization,
    onProgress: (_, step) => void steps.add(step)
  })
  const { tokens } = await collect(model.generate(greedy([9, 8], 8)))
  await model.close()
  return { tokens, made: steps.has('quantising the weights') || steps.has('converting the weights') }
}

/** Loads the model in a separate process. */
async function runLoad(cacheDirectory: string, quantization: Quantization): Promise<Loaded> {
  const { stdout } = await run(process.execPath, [
    ...CHILD_ARGUMENTS,
    script('load.ts'),
    vox,
    cacheDirectory,
    quantization
  ])
  return JSON.parse(stdout) as Loaded
}

interface Loaded {
  readonly tokens: readonly number[]
  /** True if the process packed the weights itself. */
  readonly packed: boolean
}

type Damage = (bytes: Buffer, at: number) => Uint8Array

const damages: Readonly<Record<string, Damage>> = {
  'a flipped bit': (bytes, at) => {
    const other = Buffer.from(bytes)
    other[at >> 3]! ^= 1 << (at & 7)
    return other
  },
  'a truncated file': (bytes, at) => bytes.subarray(0, at >> 3),
  'appended bytes': (bytes, at) => Buffer.concat([bytes, bytes.subarray(0, 1 + (at >> 3))])
}

/** Overwrites a file and restores its modification time. Waits first, so that its change time differs. */
async function overwrite(file: string, bytes: Uint8Array): Promise<void> {
  const { atime, mtime, ctimeMs } = await stat(file)
  do {
    await writeFile(file, bytes)
    await utimes(file, atime, mtime)
  } while ((await stat(file)).ctimeMs === ctimeMs)
}

t.test('any change of a cached file invalidates it', async t => {
  const folder = await temporaryFolder(t)
  const byteLength = 300
  await fc.assert(
    fc.asyncProperty(
      fc.uuid(),
      fc.uint8Array({ minLength: byteLength, maxLength: byteLength }),
      fc.constantFrom(...Object.keys(damages)),
      fc.nat(),
      async (name, content, damage, at) => {
        const file = join(folder, name)
        await writeCached(file, byteLength, sink => sink.write(content, 0))
        assert.equal(await isCached(file, byteLength), true)
        const bytes = await readFile(file)
        await overwrite(file, damages[damage]!(bytes, at % (8 * bytes.length)))
        assert.equal(await isCached(file, byteLength), false)
        await overwrite(file, bytes)
        assert.equal(await isCached(file, byteLength), true)
      }
    ),
    { numRuns: 50 }
  )
  t.pass()
})

for (const quantization of ['none', 'q8', 'q4'] as const) {
  t.test(`${quantization}: an intact cached file is reused`, async t => {
    const cacheDirectory = await temporaryFolder(t)
    const first = await load(t, cacheDirectory, quantization)
    t.equal(first.made, true)
    const [file] = await cachedFiles(cacheDirectory)
    const bytes = await readFile(file!)
    t.match(await load(t, cacheDirectory, quantization), { made: false, tokens: first.tokens })
    for (const damaged of [damages['a flipped bit']!(bytes, 4 * bytes.length), bytes.subarray(0, -40)]) {
      await overwrite(file!, damaged)
      t.match(await load(t, cacheDirectory, quantization), { made: true, tokens: first.tokens })
      t.ok(bytes.equals(await readFile(file!)), 'the file is written again with the same contents')
    }
    t.match(await load(t, cacheDirectory, quantization), { made: false }, 'the rewritten file is reused')
  })
}

t.test('each representation of the weights, with and without the adapter, has a separate file', async t => {
  const cacheDirectory = await temporaryFolder(t)
  for (const quantization of ['none', 'q8', 'q4'] as const) {
    await loadModel(t, { engine: { cacheDirectory }, quantization })
    await loadModel(t, { engine: { cacheDirectory }, quantization, adapter: false })
  }
  t.equal((await cachedFiles(cacheDirectory)).length, 6)
})

t.test('a process that is killed during a write does not affect the next one', async t => {
  const cacheDirectory = await temporaryFolder(t)
  for (const progress of ['0', '0.55', '0.8']) {
    const killed = await run(process.execPath, [
      ...CHILD_ARGUMENTS,
      script('load-and-die.ts'),
      vox,
      cacheDirectory,
      progress
    ]).then(
      () => null,
      error => error.signal
    )
    t.equal(killed, 'SIGKILL')
    t.match(await readdir(cacheDirectory), /\.partial/)
    t.same(await cachedFiles(cacheDirectory), [])
  }
  const outputs = [await runLoad(cacheDirectory, 'q8'), await runLoad(cacheDirectory, 'q8')]
  t.same(
    outputs.map(({ packed }) => packed),
    [true, false]
  )
  t.equal(outputs[0]?.tokens.length, 6)
  t.same(outputs[1]?.tokens, outputs[0]?.tokens)
  t.equal((await cachedFiles(cacheDirectory)).length, 1)
})

t.test('if several processes load one model, one packs the weights for all', async t => {
  const cacheDirectory = await temporaryFolder(t)
  const outputs = await Promise.all([1, 2, 3].map(() => runLoad(cacheDirectory, 'q4')))
  t.equal(outputs.filter(({ packed }) => packed).length, 1)
  t.equal(outputs[0]?.tokens.length, 6)
  for (const { tokens } of outputs) t.same(tokens, outputs[0]?.tokens)
  const [file, ...others] = (await readdir(cacheDirectory)).filter(name => name !== 'digests')
  t.match(file, /\.q4$/)
  t.same(others, [])
})

t.test('a writer waits only for a live writer', async t => {
  const file = join(await temporaryFolder(t), 'weights.q8')
  const first = await lockForWriting(file)
  t.equal(first.waited, false)
  const abort = new AbortController()
  const impatient = lockForWriting(file, abort.signal)
  const second = lockForWriting(file)
  abort.abort()
  await t.rejects(impatient, { name: 'AbortError' })
  await first.release()
  const held = await second
  t.equal(held.waited, true)
  await held.release()

  const dead = spawnSync(process.execPath, ['--version'])
  const gone = { ...ownIdentity(), pid: dead.pid }
  await writeFile(`${file}.writer`, JSON.stringify(gone))
  await (await lockForWriting(file)).release()
  if (gone.start !== null) {
    // This process id belongs to another PID namespace, whose processes are not visible here.
    const [boot, , ticks] = gone.start.split(' ')
    await writeFile(`${file}.writer`, JSON.stringify({ ...gone, start: `${boot} pid:[1] ${ticks}` }))
    const waiting = new AbortController()
    const unseen = lockForWriting(file, waiting.signal)
    waiting.abort()
    await t.rejects(unseen, { name: 'AbortError' })
    t.equal((await readdir(dirname(file))).length, 1, 'the lock of a process that cannot be seen stays')
  }
  await writeFile(`${file}.writer`, 'elsewhere 1')
  const longAgo = Date.now() / 1000 - 60
  await utimes(`${file}.writer`, longAgo, longAgo)
  await (await lockForWriting(file)).release()
  t.same(await readdir(dirname(file)), [])
  const nowhere = await lockForWriting(join(file, 'nowhere'))
  t.equal(nowhere.waited, false, 'does not wait if the lock folder is not writable')
  await nowhere.release()
})
