import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import type { Server } from 'node:net'
import t from 'tap'
import { ownerOf } from '#guards'
import { start } from '../fixtures/loader/plugin-folder.ts'

/** Removes the first error that the host received, and returns it. Waits for one if there is none. */
async function nextError(errors: unknown[]): Promise<Error> {
  while (errors.length === 0) await new Promise(resolve => setImmediate(resolve))
  return errors.shift() as Error
}

t.test('errors that no caller can catch are reported to the host and do not end the process', async t => {
  const fail = "throw new Error('oops')"
  const cases: Record<string, string> = {
    'a timeout': `setTimeout(() => { ${fail} }, 1)`,
    'an immediate': `setImmediate(() => { ${fail} })`,
    'an async interval': `ctx.timer = setInterval(async () => { clearInterval(ctx.timer); ${fail} }, 1)`,
    'a microtask': `queueMicrotask(() => { ${fail} })`,
    'the next tick': `process.nextTick(() => { ${fail} })`,
    'a process listener': `process.once('SIGUSR2', () => { ${fail} }); ctx.emit()`,
    'a listener of a server': `const s = createServer(); s.on('close', () => { ${fail} }); s.listen(0, () => s.close())`,
    'the output of a child': `spawn('echo', ['x']).stdout.on('data', () => { ${fail} })`
  }
  for (const [name, body] of Object.entries(cases)) {
    const head = "import { createServer } from 'node:net'\nimport { spawn } from 'node:child_process'"
    const { plugin, errors } = await start(t, body, head)
    plugin.activate({ emit: () => process.emit('SIGUSR2') })
    const error = await nextError(errors)
    t.match(error, { message: 'oops' }, name)
    t.equal(ownerOf(error), 'sample', name)
  }
})

t.test('an `error` event without a listener is reported to the host', async t => {
  const head = "import { spawn } from 'node:child_process'"
  const { plugin, errors } = await start(t, "spawn('/no/such/program')", head)
  plugin.activate({})
  t.match(await nextError(errors), { code: 'ENOENT' })
})

t.test('a request whose handler throws is closed', async t => {
  const head = "import { createServer } from 'node:http'"
  const body = "ctx.server = createServer(() => { throw new Error('oops') }).listen(0)"
  const { plugin, errors } = await start(t, body, head)
  const context = {} as { server: Server }
  plugin.activate(context)
  await once(context.server, 'listening')
  const { port } = context.server.address() as { port: number }
  await t.rejects(once(request({ port }).end(), 'response'), { code: 'ECONNRESET' })
  t.match(await nextError(errors), { message: 'oops' })
})

t.test('calls reserved for the host throw an error that names the plugin and an alternative', async t => {
  const bodies = [
    'process.exit(1)',
    'process.abort()',
    "process.chdir('/')",
    'process.kill(process.pid)',
    'process.kill(0)',
    'process.kill(process.ppid)',
    "process.kill(process.ppid, 'SIGUSR1')",
    'process.kill(-1)',
    'process.kill(-process.ppid)',
    'process.kill(-process.pid)',
    "process.on('uncaughtException', () => {})",
    "process.once('unhandledRejection', () => {})",
    'process.setUncaughtExceptionCaptureCallback(null)',
    'globalThis.process.exit(1)',
    "require('process').exit(1)",
    "process.getBuiltinModule('node:process').exit(1)",
    "createRequire(import.meta.url)('process').exit(1)"
  ]
  for (const body of bodies) {
    const { plugin } = await start(t, body, "import { createRequire } from 'node:module'\ndeclare const require: any")
    t.throws(() => plugin.activate({}), { code: 'LDR_REFUSED', plugin: 'sample', hint: /./ }, body)
  }
})

t.test('a plugin can signal the children that it starts and their process groups, and probe any process', async t => {
  const head = "import { spawn } from 'node:child_process'"
  const body = `
  const start = () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true })
  process.kill(process.ppid, 0)
  const [one, group] = [start(), start()]
  process.kill(one.pid)
  process.kill(-group.pid, 'SIGKILL')
  return [one, group]`
  const { plugin } = await start(t, body, head)
  const children = plugin.activate({}) as ChildProcess[]
  const endings = await Promise.all(children.map(child => once(child, 'exit')))
  t.same(
    endings.map(([, signal]) => signal),
    ['SIGTERM', 'SIGKILL']
  )
})

t.test('after disposal, opening resources throws and pending callbacks do not run', async t => {
  const head = `import { createServer } from 'node:http'
import { setTimeout as sleep, setInterval as ticks } from 'node:timers/promises'
import fs from 'node:fs'`
  const body = `
  queueMicrotask(() => ctx.called = 'microtask')
  return [
    () => setTimeout(() => {}), () => setInterval(() => {}), () => setImmediate(() => {}), () => sleep(1),
    () => createServer(), () => new (createServer().constructor)(), () => process.on('SIGUSR2', () => {}),
    () => process.nextTick(() => {}), () => queueMicrotask(() => {}), () => fs.watch('.'),
    () => fs.watchFile('.', () => {})
  ].concat(() => ticks(1).next())`
  const { plugin, dispose } = await start(t, body, head)
  const context: { called?: string } = {}
  const openers = plugin.activate(context) as (() => unknown)[]
  const disposed = dispose()
  for (const open of openers) {
    await t.rejects(async () => open(), { code: 'LDR_CLOSED', plugin: 'sample', hint: /ctx\.signal/ }, String(open))
  }
  await disposed
  t.same(context, {}, 'the microtask did not run')
})

t.test('a resource that outlives the unit stays open, and its code continues to work', async t => {
  const head = `import { createServer } from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'`
  const body = `
  setInterval(() => {}, 1000)
  return ctx.adopt(async () => {
    await sleep(1)
    const server = createServer(async (request, response) => { await sleep(1); setImmediate(() => response.end('served')) })
    const beat = setInterval(() => { ctx.beats = (ctx.beats ?? 0) + 1 }, 1)
    server.listen(0)
    await once(server, 'listening')
    return { server, beat }
  })`
  const { plugin, guards, leaks, dispose } = await start(t, body, head)
  const context = { adopt: (open: () => unknown) => guards.adopt(open), beats: 0 }
  const { server, beat } = (await plugin.activate(context)) as { server: Server; beat: NodeJS.Timeout }
  t.teardown(() => {
    clearInterval(beat)
    server.close()
  })
  t.same(guards.resources(), ['interval of 1000 ms'])
  await dispose()
  t.match(leaks, [/interval of 1000 ms/], 'resources opened outside the opener are closed')
  t.ok(server.listening)
  const { port } = server.address() as { port: number }
  const [response] = await once(request({ port }).end(), 'response')
  t.equal((await response.toArray()).join(''), 'served')
  const { beats } = context
  while (context.beats === beats) await new Promise(resolve => setImmediate(resolve))
  t.ok(context.beats > beats)
})

t.test('resources that another plugin opens inside an opener also outlive their unit', async t => {
  const engine = await start(
    t,
    'return { load: () => ({ beat: setInterval(() => {}, 1000), later: () => new Promise(r => setTimeout(r, 1)) }) }'
  )
  const user = await start(t, 'return ctx.adopt(async () => { await 1; return ctx.engine.load() })')
  const model = (await user.plugin.activate({
    engine: engine.plugin.activate({}),
    adopt: (open: () => unknown) => user.guards.adopt(open)
  })) as { beat: NodeJS.Timeout; later(): Promise<void> }
  t.teardown(() => clearInterval(model.beat))
  await engine.dispose()
  await user.dispose()
  t.same([...engine.leaks, ...user.leaks], [])
  await model.later()
})

t.test('the resources of other plugins are tracked after an opener throws', async t => {
  const { plugin, guards, leaks, dispose } = await start(t, "ctx.adopt(() => { throw new Error('no') })")
  t.throws(() => plugin.activate({ adopt: (open: () => unknown) => guards.adopt(open) }), { message: 'no' })
  const other = await start(t, 'setInterval(() => {}, 1000)')
  other.plugin.activate({})
  await other.dispose()
  t.equal(other.leaks.length, 1, 'other plugins are still tracked')
  await dispose()
  t.same(leaks, [])
})

t.test("guarded modules behave like Node's: instanceof, inheritance, names, constants", async t => {
  const head = `import net, { Server, Socket } from 'node:net'
import http from 'node:http'
import * as everything from 'node:fs'
import util from 'node:util'`
  const body = `
  class Mine extends Server { own() { return 'mine' } }
  const mine = new Mine()
  return {
    subclass: mine instanceof Mine && mine instanceof Server && mine.own(),
    unguarded: ctx.socket instanceof Socket, name: Server.name, withoutNew: net.Socket() instanceof Socket,
    agent: http.globalAgent === ctx.agent, constants: typeof everything.constants.O_RDONLY,
    inspect: typeof util.inspect, process: process instanceof ctx.EventEmitter && process.pid === ctx.pid,
    title: (process.title = process.title)
  }`
  const { plugin } = await start(t, body, head)
  const { globalAgent } = await import('node:http')
  const { Socket } = await import('node:net')
  t.same(plugin.activate({ socket: new Socket(), agent: globalAgent, EventEmitter, pid: process.pid }), {
    subclass: 'mine',
    unguarded: true,
    name: 'Server',
    withoutNew: true,
    agent: true,
    constants: 'number',
    inspect: 'function',
    process: true,
    title: process.title
  })
})

t.test('invalid arguments throw the errors of Node', async t => {
  const { plugin } = await start(t, "setTimeout('text', 1)")
  t.throws(() => plugin.activate({}), { code: 'ERR_INVALID_ARG_TYPE' })
})
