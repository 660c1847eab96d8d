import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callDaemon } from '@svc/contracts'
import t from 'tap'
import { daemonStateOf } from '../daemon-state.ts'
import { errorOf, runSvc } from './run-svc.ts'
import { makeProject, pluginPackage, serve } from './served-project.ts'

/** Source of a plugin that reports the process in which it runs, or waits until it is cancelled. */
const WHERE = `
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const place = defineOperation({
  id: 'where.place', summary: 'Report the process id', input: t.object({}),
  output: t.object({ pid: t.integer(), word: t.string() }), effect: 'read',
  expose: { rpc: true, cli: { command: 'where place' } }
})
const local = defineOperation({
  id: 'where.local', summary: 'Not over RPC', input: t.object({}), output: t.object({ pid: t.integer() }),
  effect: 'read', expose: { cli: { command: 'where local' } }
})
const wait = defineOperation({
  id: 'where.wait', summary: 'Wait', input: t.object({ deaf: t.boolean({ default: false }) }), output: t.object({}),
  events: t.string(), timeoutMs: 0, expose: { rpc: true, cli: { command: 'where wait' } }
})
const story = defineOperation({
  id: 'where.story', summary: 'Tell', input: t.object({}), output: t.object({ text: t.string() }), events: t.string(),
  effect: 'read', expose: { rpc: true, cli: { command: 'where story', view: { text: 'text' } } }
})

export default definePlugin({
  name: 'where',
  config: t.object({ word: t.string({ default: 'here', 'x-reload': 'live' }) }),
  operations: [place, local, wait, story],
  activate(ctx) {
    const note = line => appendFileSync(join(ctx.projectRoot, 'notes'), line + '\\n')
    ctx.implement(place, () => ({ pid: process.pid, word: ctx.config.word }))
    ctx.implement(local, () => ({ pid: process.pid }))
    ctx.implement(story, async (_input, call) => {
      for (const word of ['once ', 'upon ', 'a time']) call.emit(word)
      return { text: 'once upon a time' }
    })
    ctx.implement(wait, async ({ deaf }, call) => {
      stuck = deaf
      call.emit('waiting')
      const alive = setInterval(() => {}, 1000)
      await new Promise(resolve => call.signal.addEventListener('abort', resolve, { once: true }))
      clearInterval(alive)
      note('cancelled in ' + process.pid)
      throw call.signal.reason
    })
    let stuck = false
    ctx.effect('note', () => {
      note('disposed in ' + process.pid)
      if (stuck) return new Promise(() => {})
    })
  }
})
`

const files = { 'plugins/where/package.json': pluginPackage('where'), 'plugins/where/src/plugin.ts': WHERE }
const ONLY = ['--only', 'http,daemon,cli,where']

t.test('commands run in the running daemon, or in process if none runs', async t => {
  const folder = makeProject(t, files)
  const pidOf = async (...argv: string[]): Promise<number> =>
    JSON.parse((await runSvc(folder, [...argv, '--json'])).stdout).pid
  const alone = await pidOf('where', 'place')
  const server = await serve(t, folder, ONLY)
  await daemonStateOf(folder)
  t.not(alone, server.child.pid)
  t.equal(await pidOf('where', 'place'), server.child.pid, 'a command runs in the daemon')
  t.equal(await pidOf('call', 'where.place'), server.child.pid, 'a call by id runs in the daemon')
  t.equal(await pidOf('rpc', 'where.place'), server.child.pid, 'a method runs in the daemon')
  t.not(await pidOf('where', 'place', '--in-process'), server.child.pid, '--in-process runs in a new process')
  t.not(await pidOf('where', 'local'), server.child.pid, 'an operation without RPC runs in a new process')
  t.match(
    await runSvc(folder, ['where', 'place', '--set', 'plugins.where.word=there']),
    { code: 0, stdout: /"there"/ },
    'a command with --set runs in a new process'
  )
  t.match(await runSvc(folder, ['where', 'story']), { code: 0, stdout: 'once upon a time\n' }, 'events are streamed')
  t.match(errorOf(await runSvc(folder, ['rpc', 'where.nowhere', '--json'])), { code: 'DMN_METHOD_UNKNOWN' })

  const list = await runSvc(folder, ['plugins', 'list'])
  t.match(list.stdout, /^where +1\.0\.0 +active +1 /m)
  t.notMatch(list.stdout, /no daemon/)
  t.match(
    (await runSvc(folder, ['plugins', 'effects', 'where'])).stdout,
    /^where 1\.0\.0 \(active[\s\S]*where\.place[\s\S]*note$/m
  )
  t.match((await runSvc(folder, ['plugins', 'top', '--seconds', '0.1'])).stdout, /^PLUGIN +CPU-MS +SHARE +CALLS\n/)
  t.match((await runSvc(folder, ['doctor'])).stdout, /^ok +daemon +process \d+ at 127\.0\.0\.1:\d+/m)

  t.match(await runSvc(folder, ['plugins', 'reload', 'where']), {
    code: 0,
    stdout: 'replace where: requested\ngeneration 2 serves\n'
  })
  t.match(readFileSync(join(folder, 'notes'), 'utf8'), `disposed in ${server.child.pid}`)
  t.match(await runSvc(folder, ['plugins', 'disable', 'where', '--no-persist']), { code: 0, stdout: /^remove where/ })
  t.match(errorOf(await runSvc(folder, ['where', 'place', '--json'])), {
    code: 'DMN_METHOD_UNKNOWN',
    hint: 'svc plugins why where'
  })
  t.equal(readFileSync(join(folder, 'svc.toml'), 'utf8'), '', 'the change is not persisted')
  t.match(await runSvc(folder, ['plugins', 'enable', 'where']), { code: 0, stdout: /^add where/ })
  t.match(readFileSync(join(folder, 'svc.toml'), 'utf8'), /\[plugins\.where\]\nenabled = true/)

  t.equal(await server.stop('SIGINT'), 0, 'a server that is stopped by SIGINT exits with 0')
  t.not(await pidOf('where', 'place'), server.child.pid)
})

t.test('a daemon accepts its configured token, and the token of its state file, which svc sends', async t => {
  const folder = makeProject(t, { ...files, 'svc.toml': '[plugins.daemon]\ntoken = "secret://env/DAEMON_TOKEN"\n' })
  process.env.DAEMON_TOKEN = 'opensesame'
  t.teardown(() => delete process.env.DAEMON_TOKEN)
  const server = await serve(t, folder, ONLY)
  const { socket } = await daemonStateOf(folder)
  for (const token of ['opensesame', 'guessed']) {
    const { stdout } = await runSvc(folder, ['where', 'place', '--json'], { env: { DAEMON_TOKEN: token } })
    t.equal(JSON.parse(stdout).pid, server.child.pid)
  }
  t.match(await callDaemon({ socket }, 'where.place', {}, { token: 'opensesame' }), { pid: server.child.pid })
  await t.rejects(callDaemon({ socket }, 'orch.ping', {}, { token: 'guessed' }), { code: 'DMN_UNAUTHORIZED' })
  await t.rejects(callDaemon({ socket }, 'orch.ping'), { code: 'DMN_UNAUTHORIZED' })
})

t.test('commands ignore the state file of a dead daemon', async t => {
  const folder = makeProject(t, files)
  const server = await serve(t, folder, ONLY)
  const left = JSON.stringify(await daemonStateOf(folder))
  server.child.kill('SIGKILL')
  await server.ended
  writeFileSync(join(folder, '.vox', 'daemon.json'), left)
  t.match(await runSvc(folder, ['where', 'place']), { code: 0 })
  t.match(await runSvc(folder, ['rpc', 'orch.ping']), { code: 7 })
  const reused = { ...JSON.parse(left), pid: process.pid }
  writeFileSync(join(folder, '.vox', 'daemon.json'), JSON.stringify({ ...reused, process_start: null }))
  t.match(
    await runSvc(folder, ['where', 'place']),
    { code: 0 },
    'a state file whose process id now belongs to another process is ignored'
  )
  t.match((await runSvc(folder, ['doctor'])).stdout, /^warning +daemon +.*does not respond for this project/m)
})

t.test('the first Ctrl-C ends a command cleanly with 130, here and in the daemon', async t => {
  const folder = makeProject(t, files)
  const interruptOnceWaiting = (argv: string[]): Promise<{ code: number | string; stderr: string }> =>
    runSvc(folder, argv, {
      onStart: child => void once(child.stdout!, 'data').then(() => child.kill('SIGINT'))
    })
  const alone = await interruptOnceWaiting(['where', 'wait'])
  t.equal(alone.code, 130)
  t.equal(alone.stderr, '')
  t.match(readFileSync(join(folder, 'notes'), 'utf8'), /^cancelled in \d+\ndisposed in \d+\n$/)

  const server = await serve(t, folder, ONLY)
  await daemonStateOf(folder)
  t.match(await interruptOnceWaiting(['where', 'wait']), { code: 130 })
  const cancelled = `cancelled in ${server.child.pid}`
  while (!readFileSync(join(folder, 'notes'), 'utf8').includes(cancelled))
    await new Promise(resolve => setTimeout(resolve, 5))
  t.match(await runSvc(folder, ['where', 'story']), { code: 0 }, 'the daemon continues')
})

t.test('the second Ctrl-C ends a command immediately', async t => {
  const folder = makeProject(t, files)
  const notes = join(folder, 'notes')
  const { code } = await runSvc(folder, ['where', 'wait', '--deaf', '--set', 'kernel.drain_timeout_ms=86400000'], {
    onStart: child =>
      void once(child.stdout!, 'data').then(async () => {
        child.kill('SIGINT')
        while (!existsSync(notes) || !readFileSync(notes, 'utf8').includes('disposed'))
          await new Promise(resolve => setTimeout(resolve, 5))
        child.kill('SIGINT')
      })
  })
  t.equal(code, 130)
})

t.test('svc serve runs only the plugins of --only, with the settings of --profile', async t => {
  const folder = makeProject(t, {
    ...files,
    'svc.quiet.toml': '[plugins.where]\nword = "hush"\n',
    'svc.toml': '[plugins.where]\nword = "loud"\n'
  })
  const server = await serve(t, folder, ['--only', 'http,daemon,cli, where', '--profile', 'quiet'])
  await daemonStateOf(folder)
  t.match((await runSvc(folder, ['where', 'place'])).stdout, /"hush"/)
  const { stdout } = await runSvc(folder, ['plugins', 'list', '--json'])
  const states = new Map(
    JSON.parse(stdout).plugins.map((each: { name: string; state: string }) => [each.name, each.state])
  )
  t.equal(states.get('where'), 'active')
  t.equal(states.get('mcp'), 'disabled')
  t.match((await runSvc(folder, ['plugins', 'why', 'mcp'])).stdout, /left out by --only/)
  t.match(
    (await runSvc(folder, ['config', 'explain', 'plugins.where.word'])).stdout,
    /svc\.quiet\.toml:2:1[\s\S]*overrides "loud"/
  )
  t.equal(await server.stop('SIGTERM'), 0)
})

t.test('a saved plugin is reloaded, and a new plugin adds its commands', async t => {
  const folder = makeProject(t, files)
  const server = await serve(t, folder)
  await daemonStateOf(folder)
  const file = join(folder, 'plugins', 'where', 'src', 'plugin.ts')
  writeFileSync(file, WHERE.replace('word: ctx.config.word', "word: 'changed'"))
  await server.line(/"msg":"generation 2"/)
  t.match((await runSvc(folder, ['where', 'place'])).stdout, /"changed"/)
  t.match(await runSvc(folder, ['plugins', 'new', 'greeter']), { code: 0 })
  await server.line(/"added":\["greeter"\]/)
  t.match(await runSvc(folder, ['greeter', 'greet', 'Ada']), { code: 0, stdout: 'Hello, Ada!\n' })
  const { pid } = server.child
  t.equal(JSON.parse((await runSvc(folder, ['where', 'place', '--json'])).stdout).pid, pid)
})

t.test('svc mcp serves stdio while a daemon runs', async t => {
  const folder = makeProject(t, files)
  await serve(t, folder, ONLY)
  await daemonStateOf(folder)
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  }
  const ran = await runSvc(folder, ['mcp'], { stdin: `${JSON.stringify(initialize)}\n` })
  t.equal(ran.code, 0)
  t.match(JSON.parse(ran.stdout.split('\n')[0]!), { id: 1, result: { serverInfo: {} } })
})
