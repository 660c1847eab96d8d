import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'

/** Thread that prepares a different statement each time, and reports its start. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
const { NativeGuard } = require(workerData.contracts)
const { connect } = require(workerData.module)
const guard = new NativeGuard(workerData.nativeGuard)
const connection = connect({ file: ':memory:', busyTimeoutMs: 0, synchronous: 'normal' }, undefined, guard)
parentPort.postMessage('begun')
for (let n = 0; ; n++) connection.rows('SELECT ' + n + ' AS n, ? AS given', [n])
`

/** Ends 40 such threads at random points. Without the guard, every third one crashed the process. */
const PROCESS = `
import { buildSync } from 'esbuild'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ProgramWorker } from '#threads'

const folder = mkdtempSync(join(tmpdir(), 'guard-'))
const contracts = join(folder, 'guard.cjs')
buildSync({ entryPoints: ['../../contracts/src/database/native-guard.ts'], bundle: true, platform: 'node', format: 'cjs', outfile: contracts })
const module = join(process.cwd(), '../database/dist/thread-connection.cjs')
for (let round = 0; round < 40; round++) {
  const worker = new ProgramWorker(${JSON.stringify(THREAD)}, { eval: true, execArgv: [], workerData: { contracts, module } })
  if (round % 2 === 0) await once(worker, 'message')
  await new Promise(resolve => setTimeout(resolve, Math.random() * 10))
  await worker.end()
}
rmSync(folder, { recursive: true })
console.log('all were ended')
`

/** Runs a module in a child process, in the folder of the plugin. Returns its complete output. */
async function runProcess(module: string): Promise<{ code: number | null; signal: string | null; output: string }> {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const argv = [...CHILD_ARGUMENTS, '--input-type=module', '-e', module]
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code, signal] = await once(child, 'close')
  return { code, signal, output }
}

t.test('a thread can be ended at any point of its database work, without affecting the process', async t => {
  t.same(await runProcess(PROCESS), { code: 0, signal: null, output: 'all were ended\n' })
})

/** Loads slowly, and notes when it has been loaded. */
const SLOW_MODULE = `
const { parentPort, workerData } = require('node:worker_threads')
parentPort.postMessage('loading')
for (const until = Date.now() + 200; Date.now() < until; );
Atomics.store(workerData.loaded, 0, 1)
exports.connect = () => null
`

t.test('a thread is not ended while it loads the module of the database', async t => {
  const { ProgramWorker } = await import('#threads')
  const folder = t.testdir({ 'slow.cjs': SLOW_MODULE })
  const script = join(folder, 'thread.cjs')
  buildSync({
    stdin: {
      contents: `
import { workerData } from 'node:worker_threads'
import { connectThread } from './connect-thread.ts'
connectThread({ module: workerData.module, options: null })`,
      resolveDir: fileURLToPath(new URL('../../src/database', import.meta.url))
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    conditions: ['svc-source'],
    banner: { js: "const thisFile = require('node:url').pathToFileURL(__filename).href" },
    define: { 'import.meta.url': 'thisFile' },
    outfile: script
  })
  const loaded = new Int32Array(new SharedArrayBuffer(4))
  const worker = new ProgramWorker(script, { execArgv: [], workerData: { module: join(folder, 'slow.cjs'), loaded } })
  t.same(await once(worker, 'message'), ['loading'])
  await worker.end()
  t.equal(Atomics.load(loaded, 0), 1)
})

/** Process with a thread in a native call of some hours. It ends the thread twice, and then exits. */
const ENDLESS = `
const { workerData, parentPort } = require('node:worker_threads')
Atomics.store(new Int32Array(workerData.nativeGuard), 0, 1)
parentPort.postMessage('begun')
require('node:crypto').pbkdf2Sync('a', 'b', 2 ** 31 - 1, 4096, 'sha512')
`
const LEAVING = `
import { once } from 'node:events'
import { ProgramWorker } from '#threads'
const worker = new ProgramWorker(${JSON.stringify(ENDLESS)}, { eval: true, execArgv: [] })
await once(worker, 'message')
worker.on('left', () => console.log('left behind'))
await worker.end(100)
await worker.end(100)
console.log('over')
`

t.test('a thread with an endless database call blocks neither other threads nor the exit of the process', async t => {
  const { signal, output } = await runProcess(LEAVING)
  t.same({ signal, output }, { signal: 'SIGKILL', output: 'left behind\nover\n' })
})

t.test('`end` resolves immediately for a thread that has already exited', async t => {
  const { ProgramWorker } = await import('#threads')
  const script = `
const guard = new Int32Array(require('node:worker_threads').workerData.nativeGuard)
Atomics.store(guard, 0, 1)
throw new Error('in between')`
  const worker = new ProgramWorker(script, { eval: true, execArgv: [] })
  await once(worker, 'error')
  await worker.end()
  t.equal(worker.threadId, -1)
})
