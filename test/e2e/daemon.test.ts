import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { callDaemon, daemonStatePath, readDaemonState } from '@svc/contracts'
import t, { type Test } from 'tap'
import { daemonStateOf } from '../daemon-state.ts'
import { makeProject, pluginPackage, SVC_BIN, serve } from './served-project.ts'

const source = (revision: number): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const version = defineOperation({
  id: 'demo.version', summary: 'x', input: t.object({}), output: t.object({ revision: t.integer() }),
  effect: 'read', expose: { rpc: true }
})
const ticks = defineOperation({
  id: 'demo.ticks', summary: 'x', input: t.object({ count: t.integer() }), output: t.object({ revision: t.integer() }),
  events: t.integer(), timeoutMs: 0, expose: { rpc: true }
})

export default definePlugin({
  name: 'demo',
  operations: [version, ticks],
  activate(ctx) {
    console.log('a careless plugin prints to standard output')
    ctx.implement(version, () => ({ revision: ${revision} }))
    ctx.implement(ticks, async ({ count }, call) => {
      for (let tick = 1; tick <= count; tick++) {
        call.emit(tick)
        await new Promise(resolve => setTimeout(resolve, 20))
        call.signal.throwIfAborted()
      }
      return { revision: ${revision} }
    })
  }
})
`

const ARGUMENTS = ['--only', 'http,daemon,demo', '--set', 'kernel.plugin_directories=["plugins"]']

function project(t: Test): string {
  return makeProject(t, { 'plugins/demo/package.json': pluginPackage('demo'), 'plugins/demo/src/plugin.ts': source(1) })
}

t.test('a served project', async t => {
  const folder = project(t)
  const server = await serve(t, folder, ['--watch', ...ARGUMENTS])
  const state = await daemonStateOf(server.folder)

  t.test('writes the address of its daemon', async t => {
    t.equal(state.pid, server.child.pid)
    const { repository_id } = state
    t.same(await callDaemon(state, 'orch.ping'), { ok: true, repository_id, protocol: 'svc.orchestrator_daemon/v1' })
  })

  t.test('serves new code on an open connection, and finishes calls on the old code', async t => {
    const socket = (await import('node:net')).connect(Number(state.socket.split(':').at(-1)), '127.0.0.1')
    t.teardown(() => socket.destroy())
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    const next = async (): Promise<any> => JSON.parse((await lines.next()).value as string)
    const ask = (id: number, method: string, params = {}): void => {
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    }
    ask(0, '$/auth', { token: state.token })
    t.match(await next(), { id: 0, result: { ok: true } })
    ask(1, 'demo.ticks', { count: 100 })
    t.match(await next(), { method: '$/event', params: { id: 1, event: 1 } })
    const from = server.lines.length
    writeFileSync(join(folder, 'plugins/demo/src/plugin.ts'), source(2))
    await server.line(/"msg":"generation \d+"/, from)
    ask(2, 'demo.version')
    const answers = new Map<number, unknown>()
    while (answers.size < 2) {
      const frame = await next()
      if (frame.id !== undefined) answers.set(frame.id, frame.result)
    }
    t.same(
      [...answers],
      [
        [2, { revision: 2 }],
        [1, { revision: 1 }]
      ]
    )
  })

  t.test('removes the state file when it stops', async t => {
    t.equal(await server.stop(), 0)
    t.notOk(existsSync(daemonStatePath(folder)))
    await t.rejects(callDaemon(state, 'orch.ping'), { code: 'DMN_UNREACHABLE' })
  })
})

t.test('the state file of a killed daemon is ignored and replaced by the next daemon', async t => {
  const folder = project(t)
  const first = await serve(t, folder, ARGUMENTS)
  const before = await daemonStateOf(first.folder)
  await first.stop('SIGKILL')
  t.ok(existsSync(daemonStatePath(folder)))
  t.equal(await readDaemonState(folder), null)
  const second = await serve(t, folder, [...ARGUMENTS, '--set', `plugins.daemon.socket=${before.socket}`])
  const after = await daemonStateOf(second.folder)
  t.equal(after.pid, second.child.pid)
  t.match(await callDaemon(after, 'demo.version'), { revision: 1 })
})

t.test('the error for a port in use names the port and the setting', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const server = await serve(t, project(t), [...ARGUMENTS, '--set', `plugins.daemon.socket=127.0.0.1:${port}`])
  const line = await server.line(/DMN_PORT_IN_USE/)
  t.match(line, new RegExp(`127\\.0\\.0\\.1:${port}`))
  t.match(line, /SVC_ORCHESTRATOR_DAEMON_SOCKET/)
})

interface Piped {
  readonly child: ChildProcess
  readonly output: string[]
  next(): Promise<any>
  readonly ended: Promise<number | string>
}

/** Starts a daemon on stdio, selected by an environment variable. */
function pipe(t: Test, folder: string, token: string): Piped {
  const child = spawn(process.execPath, [SVC_BIN, 'serve', '--json', '--only', 'daemon,demo', ...ARGUMENTS.slice(2)], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '', SVC_ORCHESTRATOR_DAEMON_SOCKET: token }
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const output: string[] = []
  const lines = createInterface({ input: child.stdout! })
  lines.on('line', line => output.push(line))
  let read = 0
  const next = async (): Promise<any> => {
    while (output.length === read) await once(lines, 'line')
    read += 1
    return JSON.parse(output[read - 1]!)
  }
  return { child, output, next, ended }
}

t.test('a daemon on stdio serves one peer', async t => {
  for (const token of ['stdio', '-', 'stdin']) {
    const folder = project(t)
    const { child, output, next, ended } = pipe(t, folder, token)
    child.stdin?.write(
      '{"jsonrpc":"2.0","id":1,"method":"orch.ping"}\nnonsense\n{"id":"n","method":"demo.version","params":{}}\n'
    )
    const answers = [await next(), await next(), await next()]
    t.match(
      answers.sort((a, b) => String(a.id).localeCompare(String(b.id))),
      [
        { id: 1, result: { ok: true } },
        { id: 'n', payload: { value: { revision: 1 } } },
        { id: null, error: { code: -32700 } }
      ]
    )
    t.notOk(existsSync(daemonStatePath(folder)), 'a daemon on stdio has no state file')
    child.stdin?.end('{"jsonrpc":"2.0","id":2,"method":"demo.version"}')
    t.match(await next(), { id: 2, result: { revision: 1 } }, 'a last line without a newline is processed')
    t.equal(await ended, 0, 'the process ends with its peer')
    t.equal(output.length, 4, 'standard output contains only protocol lines')
  }
})
