import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { join } from 'node:path'
import { signalEntries } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import { start } from '../fixtures/loader/plugin-folder.ts'

/** Runs `body` in `activate` and returns the leaks that are reported on disposal. */
async function forgotten(t: Test, body: string, head = ''): Promise<readonly string[]> {
  const running = await start(t, body, head, { 'watched.txt': 'x' })
  await running.plugin.activate({ root: running.root })
  await running.dispose()
  t.same(running.errors, [])
  t.same(running.guards.resources(), [])
  return running.leaks
}

const at = (label: string, line = 3): RegExp => new RegExp(`^${label} \\(opened at src/plugin\\.ts:${line}\\)$`)

t.test('reports leaked timers', async t => {
  t.match(await forgotten(t, 'setInterval(() => {}, 5000)'), [at('interval of 5000 ms')])
  t.match(await forgotten(t, 'setTimeout(() => {}, 60000)'), [at('timeout of 60000 ms')])
  t.match(await forgotten(t, 'globalThis.setInterval(() => {}, 5000)'), [at('interval of 5000 ms')])
  const head = "import timers from 'node:timers'"
  t.match(await forgotten(t, 'timers.setTimeout(() => {}, 60000).unref()', head), [at('timeout of 60000 ms')])
})

t.test('sleeps of a disposed plugin never settle, so its code stops', async t => {
  const running = await start(
    t,
    'for (const each of [sleep(60000), loop(), later(60000)]) each.finally(() => { ctx.ended = true })',
    `import { setInterval, setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
const later = promisify(setTimeout)
async function loop() { for await (const _ of setInterval(60000)); }`
  )
  const context = { ended: false }
  running.plugin.activate(context)
  await running.dispose()
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(context.ended)
  t.match([...running.leaks].sort(), [
    at('interval of 60000 ms', 5),
    at('sleep of 60000 ms', 6),
    at('sleep of 60000 ms', 6)
  ])
})

t.test('sleeps of a running plugin settle as in Node', async t => {
  const head = "import { setInterval, setTimeout as sleep, setImmediate, scheduler } from 'node:timers/promises'"
  const body = `return Promise.all([
    sleep(1, 'slept'), setImmediate('turned'), scheduler.wait(1), scheduler.yield(),
    (async () => { for await (const each of setInterval(1, 'tick')) return each })(),
    sleep(60000, null, { signal: AbortSignal.abort('enough') }).catch(error => error.name)
  ])`
  const running = await start(t, body, head)
  t.same(await running.plugin.activate({}), ['slept', 'turned', undefined, undefined, 'tick', 'AbortError'])
  t.same(running.guards.resources(), [])
})

t.test('reports leaked process listeners', async t => {
  const before = process.listenerCount('SIGUSR2')
  t.match(await forgotten(t, "process.on('SIGUSR2', () => {})"), [at('process listener for SIGUSR2')])
  const head = "import process from 'node:process'"
  t.match(await forgotten(t, "process.once('SIGUSR2', () => {})", head), [at('process listener for SIGUSR2')])
  t.equal(process.listenerCount('SIGUSR2'), before)
})

t.test('reports and closes leaked servers with their connections', async t => {
  for (const [module, label] of [
    ['http', 'http.createServer'],
    ['net', 'net.createServer'],
    ['http2', 'http2.createServer']
  ]) {
    const running = await start(
      t,
      "ctx.server = createServer(() => {}).listen(0, '127.0.0.1'); return once(ctx.server, 'listening')",
      `import { createServer } from 'node:${module}'\nimport { once } from 'node:events'`
    )
    const context = {} as { server: Server }
    await running.plugin.activate(context)
    const { port } = context.server.address() as { port: number }
    const client = connect(port, '127.0.0.1').resume()
    await Promise.all([once(client, 'connect'), once(context.server, 'connection')])
    client.on('error', () => {})
    await Promise.all([once(client, 'close'), running.dispose()])
    t.notOk(context.server.listening)
    t.match(running.leaks, [at(`server of ${label} on 127\\.0\\.0\\.1:${port}`, 4)])
  }
})

t.test('reports leaked connections and datagram sockets', async t => {
  const host = (await import('node:net')).createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
  t.teardown(() => host.close())
  await once(host, 'listening')
  const { port } = host.address() as { port: number }
  const head =
    "import net from 'node:net'\nimport http from 'node:http'\nimport dgram from 'node:dgram'\nimport { once } from 'node:events'"
  const tcp = `return once(net.connect(${port}, '127.0.0.1'), 'connect')`
  t.match(await forgotten(t, tcp, head), [at(`connection of net.connect to 127\\.0\\.0\\.1:${port}`, 6)])
  const socket = `const socket = new net.Socket(); socket.connect(${port}, '127.0.0.1'); return once(socket, 'connect')`
  t.match(await forgotten(t, socket, head), [at('connection of net\\.Socket to \\?', 6)])
  const request = `return once(http.get('http://127.0.0.1:${port}/never').on('error', () => {}), 'socket')`
  t.match(await forgotten(t, request, head), [
    at(`connection of http\\.get to http://127\\.0\\.0\\.1:${port}/never`, 6)
  ])
  const udp = "const socket = dgram.createSocket('udp4'); socket.bind(0); return once(socket, 'listening')"
  t.match(await forgotten(t, udp, head), [at('datagram socket', 6)])
})

t.test('reports and ends leaked child processes, even those that ignore SIGTERM', async t => {
  const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"
  const running = await start(
    t,
    `ctx.child = spawn(process.execPath, ['-e', ${JSON.stringify(stubborn)}]); return once(ctx.child.stdout, 'data')`,
    "import { spawn } from 'node:child_process'\nimport { once } from 'node:events'"
  )
  const context = {} as { child: { pid: number; signalCode: string | null } }
  await running.plugin.activate(context)
  await running.dispose()
  t.equal(context.child.signalCode, 'SIGKILL')
  t.match(running.leaks, [at(`child process ${process.execPath} \\(pid ${context.child.pid}\\)`, 4)])
  const head = "import { exec } from 'node:child_process'\nimport { promisify } from 'node:util'"
  t.match(await forgotten(t, "promisify(exec)('sleep 60').catch(() => {})", head), [
    at('child process sleep 60 \\(pid \\d+\\)', 4)
  ])
})

t.test('reports leaked workers', async t => {
  const head = "import { Worker } from 'node:worker_threads'\nimport { once } from 'node:events'"
  const body = "return once(new Worker('setInterval(() => {}, 1000)', { eval: true }), 'online')"
  t.match(await forgotten(t, body, head), [at('worker from text', 4)])
})

t.test('reports leaked file watchers', async t => {
  const head = "import fs from 'node:fs'\nimport { watch } from 'node:fs/promises'"
  const path = '.*/watched\\.txt'
  t.match(await forgotten(t, "fs.watch(ctx.root + '/watched.txt', () => {})", head), [at(`watcher of ${path}`, 4)])
  t.match(await forgotten(t, "fs.watchFile(ctx.root + '/watched.txt', () => {})", head), [
    at(`polling watcher of ${path}`, 4)
  ])
  const loop = "(async () => { for await (const _ of watch(ctx.root + '/watched.txt')); })().catch(() => {})"
  t.match(await forgotten(t, loop, head), [at(`watcher of ${path}`, 4)])
  t.match(await forgotten(t, loop.replace('watch(', 'fs.promises.watch('), head), [at(`watcher of ${path}`, 4)])
})

t.test('resources that the plugin closes by any means are no leaks', async t => {
  const head = `import { createServer, connect } from 'node:net'
import { spawn } from 'node:child_process'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import fs from 'node:fs'
import dgram from 'node:dgram'
import { setTimeout as sleep } from 'node:timers/promises'`
  const body = `
  const listener = () => {}
  const disposers = []
  // Registered before any resource exists.
  ctx.close = () => { for (const each of disposers) each() }
  const timer = setInterval(listener, 1000)
  const byId = +setTimeout(listener, 60000)
  const closed = setTimeout(listener, 60000)
  process.on('SIGUSR2', listener)
  process.once('SIGUSR2', listener)
  fs.watchFile(ctx.root + '/watched.txt', listener)
  const watcher = fs.watch(ctx.root + '/watched.txt')
  const server = createServer().listen(0)
  const socket = dgram.createSocket('udp4').bind(0)
  const child = spawn('sleep', ['60'])
  const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
  const silent = createServer()
  setTimeout(listener, 1)
  setImmediate(listener)
  disposers.push(
    () => clearInterval(timer), () => clearTimeout(byId), () => closed.close(),
    () => process.off('SIGUSR2', listener), () => process.removeAllListeners('SIGUSR2'),
    () => fs.unwatchFile(ctx.root + '/watched.txt', listener), () => watcher.close(), () => server.close(),
    () => socket.close(), () => child.kill(), () => worker.terminate()
  )
  return Promise.all([once(server, 'listening'), once(socket, 'listening'), once(worker, 'online'), sleep(2)])`
  const running = await start(t, body, head, { 'watched.txt': '' })
  const context = { root: running.root } as unknown as { root: string; close(): void }
  const before = process.listenerCount('SIGUSR2')
  await running.plugin.activate(context)
  t.equal(process.listenerCount('SIGUSR2'), before + 2)
  context.close()
  await running.dispose()
  t.same(running.leaks, [])
  t.same(running.errors, [])
  t.equal(process.listenerCount('SIGUSR2'), before)
})

t.test('resources that end are no longer tracked', async t => {
  const head = `import { spawn } from 'node:child_process'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { exec } from 'node:child_process'
import { promisify } from 'node:util'`
  const body = `return Promise.all([
    once(spawn('true'), 'exit'), once(new Worker('', { eval: true }), 'exit'), sleep(1), promisify(exec)('true'),
    new Promise(resolve => process.nextTick(resolve)), new Promise(resolve => queueMicrotask(resolve))
  ])`
  const running = await start(t, body, head)
  await running.plugin.activate({})
  t.same(running.guards.resources(), [])
})

t.test('a repeated unwatch has no effect, and a plugin cannot remove listeners of the host', async t => {
  const host = () => {}
  process.on('SIGUSR2', host)
  t.teardown(() => process.off('SIGUSR2', host))
  const running = await start(t, "process.removeAllListeners(); process.off('SIGUSR2', ctx.host)")
  running.plugin.activate({ host })
  t.ok(process.listeners('SIGUSR2').includes(host))
})

t.test('a file watcher still works', async t => {
  const running = await start(
    t,
    "return new Promise(resolve => fs.watch(ctx.root + '/watched.txt', event => resolve(event)))",
    "import fs from 'node:fs'",
    { 'watched.txt': '' }
  )
  const seen = running.plugin.activate({ root: running.root })
  writeFileSync(join(running.root, 'watched.txt'), 'changed')
  t.equal(await seen, 'change')
})

t.test('sleeps leave nothing in a signal that outlives them', async t => {
  const running = await start(
    t,
    'return sleepOften(ctx.signal)',
    `import { setImmediate, setInterval, setTimeout as sleep } from 'node:timers/promises'
async function sleepOften(signal) {
  for (let at = 0; at < 20; at++) await sleep(1, undefined, { signal })
  await setImmediate(undefined, { signal })
  for await (const _ of setInterval(1, undefined, { signal })) break
}`
  )
  const { signal } = new AbortController()
  await running.plugin.activate({ signal })
  t.equal(signalEntries(signal), 0)
  t.same(running.guards.resources(), [])
})
