import { execFile } from 'node:child_process'
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Quantization } from '@svc/contracts'
import t, { type Test } from 'tap'
import { collect, greedy, loadModel, models, temporaryFolder } from './support/models.ts'

const run = promisify(execFile)
const script = (name: string) => join(import.meta.dirname, 'support', name)
const vox = join(models, 'vox-tiny')

async function cachedFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  return names.filter(name => /\.(f32|q8|q4)$/.test(name)).map(name => join(folder, name))
}

/** Loads with a cache, and tells what a model says and what was done for it. */
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

const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
  'a byte in the middle is another': file => flip(file, size => Math.floor(size / 2)),
  'the last byte of the checksum is another': file => flip(file, size => size - 1),
  'the end is missing': async file => truncate(file, (await stat(file)).size - 1),
  'the checksum is missing': async file => truncate(file, (await stat(file)).size - 40),
  'something follows': async file => writeFile(file, Buffer.concat([await readFile(file), Buffer.alloc(1)])),
  'it is empty': file => truncate(file, 0)
}

/** Changes one byte and puts the time of modification back. */
async function flip(file: string, position: (size: number) => number): Promise<void> {
  const { atime, mtime } = await stat(file)
  const bytes = await readFile(file)
  const at = position(bytes.length)
  bytes[at] = bytes[at]! ^ 1
  await writeFile(file, bytes)
  await utimes(file, atime, mtime)
}

for (const quantization of ['none', 'q8', 'q4'] as const) {
  t.test(`${quantization}: a cached file is used again as long as it is whole`, async t => {
    const cacheDirectory = await temporaryFolder(t)
    const first = await load(t, cacheDirectory, quantization)
    t.equal(first.made, true)
    const [file] = await cachedFiles(cacheDirectory)
    const bytes = await readFile(file!)
    t.match(await load(t, cacheDirectory, quantization), { made: false, tokens: first.tokens })
    for (const [damage, apply] of Object.entries(damages)) {
      await apply(file!)
      t.match(await load(t, cacheDirectory, quantization), { made: true, tokens: first.tokens }, damage)
      t.ok(bytes.equals(await readFile(file!)), `${damage}: made as it was`)
      t.match(await load(t, cacheDirectory, quantization), { made: false }, `${damage}: then used again`)
    }
  })
}

t.test('every way to hold the weights has a file of its own, with and without the adapter', async t => {
  const cacheDirectory = await temporaryFolder(t)
  for (const quantization of ['none', 'q8', 'q4'] as const) {
    await loadModel(t, { engine: { cacheDirectory }, quantization })
    await loadModel(t, { engine: { cacheDirectory }, quantization, adapter: false })
  }
  t.equal((await cachedFiles(cacheDirectory)).length, 6)
})

t.test('a process that is killed while it writes leaves nothing that the next one trips over', async t => {
  const cacheDirectory = await temporaryFolder(t)
  const killed = await run(process.execPath, [
    ...process.execArgv,
    script('load-and-die.ts'),
    vox,
    cacheDirectory
  ]).then(
    () => null,
    error => error.signal
  )
  t.equal(killed, 'SIGKILL')
  t.match(await readdir(cacheDirectory), /\.partial/)
  t.same(await cachedFiles(cacheDirectory), [])
  const arguments_ = [...process.execArgv, script('load.ts'), vox, cacheDirectory, 'q8']
  const outputs = [await run(process.execPath, arguments_), await run(process.execPath, arguments_)]
  t.equal(JSON.parse(outputs[0]!.stdout).length, 6)
  t.equal(outputs[1]!.stdout, outputs[0]!.stdout)
  t.equal((await cachedFiles(cacheDirectory)).length, 1)
})

t.test('several processes that quantise one model at once end with one file and the same answer', async t => {
  const cacheDirectory = await temporaryFolder(t)
  const loads = [1, 2, 3].map(() =>
    run(process.execPath, [...process.execArgv, script('load.ts'), vox, cacheDirectory, 'q4'])
  )
  const outputs = (await Promise.all(loads)).map(({ stdout }) => stdout)
  t.equal(JSON.parse(outputs[0]!).length, 6)
  t.equal(new Set(outputs).size, 1)
  t.equal((await cachedFiles(cacheDirectory)).length, 1)
  t.notOk((await readdir(cacheDirectory)).some(name => name.endsWith('.partial')))
})
