import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callDaemon, type DaemonState, daemonPresence, probeDaemon, readDaemonState } from '@svc/contracts'
import t, { type Test } from 'tap'
import { errorOf, type Ran, runSvc } from './run-svc.ts'
import { type Files, makeProject, pluginPackage, serve } from './served-project.ts'

/** Source of a plugin that logs on request, and delays a start or a stop if its settings say so. */
const CHATTY = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({
  id: 'chatty.say', summary: 'x', input: t.object({ times: t.integer() }), output: t.object({}), expose: { rpc: true }
})
export default definePlugin({
  name: 'chatty',
  config: t.object({
    deaf: t.boolean({ default: false }), broken: t.boolean({ default: false }), waits_for: t.optional(t.string())
  }),
  operations: [say],
  async activate(ctx) {
    while (ctx.config.waits_for !== undefined && !existsSync(ctx.config.waits_for)) await sleep(20)
    if (ctx.config.broken) throw new Error('the last words')
    ctx.implement(say, ({ times }) => {
      for (let time = 1; time <= times; time++) ctx.log.info('said ' + time, { time })
      return {}
    })
    if (ctx.config.deaf) process.on('SIGTERM', () => { for (;;); })
  }
})
`
const files: Files = { 'plugins/chatty/package.json': pluginPackage('chatty'), 'plugins/chatty/src/plugin.ts': CHATTY }
const SETTINGS = '[plugins.daemon]\nsocket = "127.0.0.1:0"\nonly = ["chatty"]\n'

/** Creates a project, and stops its daemon at the end of the test. */
function project(t: Test, more: Files = {}): string {
  const folder = makeProject(t, { ...files, 'svc.toml': SETTINGS, ...more })
  mkdirSync(join(folder, 'deep', 'down'), { recursive: true })
  t.teardown(async () => {
    const state = await readDaemonState(folder)
    if (state !== null) process.kill(state.pid, 'SIGKILL')
  })
  return folder
}

async function running(folder: string): Promise<DaemonState> {
  const state = await readDaemonState(folder)
  if (state === null) throw new Error('no daemon runs')
  return state
}

const json = ({ stdout }: Ran): any => JSON.parse(stdout)

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 120_000; !(await holds()); ) {
    if (Date.now() > deadline) throw new Error('the condition did not become true')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

t.test('daemon start, status and stop work, and succeed when repeated', async t => {
  const folder = project(t)
  const deep = join(folder, 'deep', 'down')
  t.match(await runSvc(deep, ['daemon', 'status']), { code: 3, stdout: /not running; start it with svc daemon start/ })
  t.match(await runSvc(deep, ['daemon', 'logs']), { code: 4, stderr: /DMN_NO_LOG/ })
  t.match(await runSvc(deep, ['daemon', 'stop', '--json']), {
    code: 0,
    stdout: '{"status":"stopped","stopped":false}\n'
  })

  const started = await runSvc(deep, ['daemon', 'start', '--json'])
  const state = await running(folder)
  const { pid, socket, repository_id } = state
  t.same(json(started), { status: 'running', started: true, pid, socket, repository_id })
  t.match(
    await callDaemon({ socket }, 'orch.ping'),
    { ok: true, repository_id },
    'the daemon responds as soon as start has returned'
  )
  t.match(await runSvc(folder, ['daemon', 'start']), {
    code: 0,
    stdout: new RegExp(`already running: process ${pid} at`)
  })
  t.match(await runSvc(folder, ['daemon', 'start', '--foreground']), { code: 0, stdout: /already running/ })

  const status = await runSvc(deep, ['daemon', 'status', '--json'])
  t.equal(status.code, 0)
  t.match(json(status), {
    ...{ status: 'running', pid, socket, repository_id, version: /^\d/, log: join(folder, '.vox', 'daemon.log') },
    ...{ started_at: /^\d{4}-.*Z$/, uptime_s: Number }
  })
  t.match(
    (await runSvc(folder, ['daemon', 'status'])).stdout,
    new RegExp(`^the daemon is running: process ${pid} at ${socket}`)
  )
  t.equal(
    (await runSvc(folder, ['rpc', 'chatty.say', '{"times":2}'])).code,
    0,
    'the daemon runs the plugins of the setting'
  )
  const logs = await runSvc(deep, ['daemon', 'logs', '-n', '2'])
  t.match(logs.stdout, /^\S+Z INFO \[chatty\] said 1 time_?=1\n\S+Z INFO \[chatty\] said 2 time_?=2\n$/)
  t.match(JSON.parse((await runSvc(folder, ['daemon', 'logs', '--lines', '1', '--json'])).stdout), { msg: 'said 2' })

  t.match(await runSvc(deep, ['daemon', 'stop']), { code: 0, stdout: new RegExp(`has stopped: process ${pid}`) })
  t.notOk(existsSync(join(folder, '.vox', 'daemon.json')))
  t.equal(daemonPresence(state), 'dead')
  t.match(await runSvc(deep, ['daemon', 'stop']), { code: 0, stdout: /not running/ })
})

t.test('the repository id comes from the environment, else from the folder', async t => {
  const folder = project(t)
  const env = { SVC_REPOSITORY_ID: 'shop' }
  t.equal((await runSvc(folder, ['daemon', 'start'], { env })).code, 0)
  const state = await running(folder)
  t.equal(state.repository_id, 'shop')
  t.match(await callDaemon(state, 'orch.ping'), { repository_id: 'shop' })
  t.match(json(await runSvc(folder, ['rpc', 'orch.ping', '--json'])), { repository_id: 'shop' })
  await runSvc(folder, ['daemon', 'stop'])
  await runSvc(folder, ['daemon', 'start'])
  t.match(await callDaemon(await running(folder), 'orch.ping'), { repository_id: /^svc-e2e-\w+-[0-9a-f]{8}$/ })
})

t.test('concurrent starts start one daemon, and all succeed', async t => {
  const folder = project(t)
  const answers = (
    await Promise.all(Array.from({ length: 8 }, () => runSvc(folder, ['daemon', 'start', '--json'])))
  ).map(ran => ({ ...json(ran), code: ran.code }))
  t.same(new Set(answers.map(({ code }) => code)), new Set([0]))
  t.same(new Set(answers.map(({ pid }) => pid)), new Set([(await running(folder)).pid]))
  t.equal(answers.filter(({ started }) => started).length, 1)
  t.notOk(
    readdirSync(join(folder, '.vox')).some(name => name.startsWith('daemon.start')),
    'the lock is removed'
  )
  t.equal(
    readFileSync(join(folder, '.vox', 'daemon.log'), 'utf8').split('"generation 1"').length,
    2,
    'only one process was started'
  )
})

t.test('a second svc serve ends with an error that names the running server', async t => {
  const folder = project(t)
  await runSvc(folder, ['daemon', 'start'])
  const { pid } = await running(folder)
  const refused = await runSvc(folder, ['serve', '--json'])
  t.equal(refused.code, 6)
  t.equal(refused.stderr.trim().split('\n').length, 1, 'the error is one line')
  const { socket } = await running(folder)
  t.match(errorOf(refused), {
    code: 'CLI_ALREADY_SERVED',
    message: new RegExp(`served by process ${pid} at ${socket}, since`),
    hint: /svc daemon stop/
  })
  t.equal((await running(folder)).pid, pid)
  for (const argv of [
    ['--only', 'http'],
    ['--set', 'plugins.daemon.enabled=false']
  ]) {
    const second = await serve(t, folder, argv)
    t.match(
      await fetch(`${second.url}/health`).then(({ status }) => status),
      200,
      `${argv.join(' ')} serves in addition`
    )
    t.equal(await second.stop(), 0)
  }
  t.equal((await running(folder)).pid, pid)
})

t.test('a killed daemon has the status stale, and can be started again', async t => {
  const folder = project(t)
  await runSvc(folder, ['daemon', 'start'])
  const { pid } = await running(folder)
  process.kill(pid, 'SIGKILL')
  await until(async () => (await readDaemonState(folder)) === null)
  t.match(await runSvc(folder, ['daemon', 'status', '--json']), { code: 1, stdout: /"status":"stale"/ })
  t.match(await runSvc(folder, ['daemon', 'start']), { code: 0, stdout: /is now running/ })
  t.not((await running(folder)).pid, pid)
  process.kill((await running(folder)).pid, 'SIGKILL')
  await until(async () => (await readDaemonState(folder)) === null)
  t.match(await runSvc(folder, ['daemon', 'stop']), { code: 0, stdout: /had already ended/ })
  t.match(await runSvc(folder, ['daemon', 'status']), { code: 3 })
})

t.test('a daemon that does not stop is killed only with --force', async t => {
  const folder = project(t, { 'svc.toml': `${SETTINGS}[plugins.chatty]\ndeaf = true\n` })
  await runSvc(folder, ['daemon', 'start'])
  const { pid } = await running(folder)
  const patient = await runSvc(folder, ['daemon', 'stop', '--wait', '200', '--json'])
  t.equal(patient.code, 7)
  t.match(errorOf(patient), { code: 'DMN_STOP_TIMEOUT', message: new RegExp(`${pid}`) })
  t.match(await runSvc(folder, ['daemon', 'status']), { code: 4, stdout: /does not respond/ })
  const late = await runSvc(folder, ['daemon', 'start', '--wait', '100', '--json'])
  t.equal(late.code, 7, 'no second daemon is started')
  t.match(errorOf(late), { code: 'DMN_START_TIMEOUT', message: new RegExp(`${pid}`) })
  t.match(await runSvc(folder, ['daemon', 'stop', '--wait', '0', '--force']), { code: 0, stdout: /was killed/ })
  t.match(await runSvc(folder, ['daemon', 'status']), { code: 3 })
})

t.test('a daemon that fails to start is reported with its last error', async t => {
  const folder = project(t, { 'svc.toml': `${SETTINGS}[plugins.chatty]\non_boot_failure = "abort"\nbroken = true\n` })
  const ran = await runSvc(folder, ['daemon', 'start', '--json'])
  t.equal(ran.code, 1)
  t.match(errorOf(ran), { code: 'DMN_START_FAILED', message: /the last words/, hint: /daemon\.log/ })
  writeFileSync(join(folder, 'svc.toml'), `${SETTINGS}what is = this\n`)
  t.match(errorOf(await runSvc(folder, ['daemon', 'start', '--json'])), { message: /CFG_TOML_SYNTAX/ })
  t.match(await runSvc(folder, ['daemon', 'status']), { code: 3 }, 'status works with any configuration')
  const streams = await runSvc(folder, ['daemon', 'start', '--json'], { env: { SVC_ORCHESTRATOR_DAEMON_SOCKET: '-' } })
  t.match(errorOf(streams), { code: 'DMN_SOCKET_INVALID' })
})

t.test('Ctrl-C during daemon start ends the command, but not the daemon', async t => {
  const folder = project(t)
  const go = join(folder, 'go')
  writeFileSync(join(folder, 'svc.toml'), `${SETTINGS}[plugins.chatty]\nwaits_for = ${JSON.stringify(go)}\n`)
  const log = join(folder, '.vox', 'daemon.log')
  const ran = await runSvc(folder, ['daemon', 'start'], {
    onStart: child => void until(() => existsSync(log)).then(() => child.kill('SIGINT'))
  })
  t.equal(ran.code, 130)
  t.match(ran.stderr, /continues to start as process \d+/)
  writeFileSync(go, '')
  const again = await runSvc(folder, ['daemon', 'start', '--json'])
  t.equal(again.code, 0)
  t.match(ran.stderr, `process ${json(again).pid}`)
})

t.test('daemon start --foreground serves until Ctrl-C and is found by other commands', async t => {
  const folder = project(t)
  const ran = await runSvc(folder, ['daemon', 'start', '--foreground', '--log-level', 'info'], {
    onStart: child =>
      void until(async () => {
        const state = await readDaemonState(folder)
        return state !== null && state.pid === child.pid && (await probeDaemon(state))
      }).then(() => child.kill('SIGINT'))
  })
  t.equal(ran.code, 0)
  t.match(ran.stderr, /"added":\["chatty","daemon"\]/)
  t.match(await runSvc(folder, ['daemon', 'status']), { code: 3 })
  t.notOk(existsSync(join(folder, '.vox', 'daemon.log')))
})

t.test('daemon logs --follow continues across rotations', async t => {
  const folder = project(t, { 'svc.toml': `${SETTINGS}log_max_bytes = 4096\nlog_files = 2\n` })
  await runSvc(folder, ['daemon', 'start'])
  const state = await running(folder)
  const log = join(folder, '.vox', 'daemon.log')
  let shown = ''
  const done = runSvc(folder, ['daemon', 'logs', '--follow', '-n', '0'], {
    onStart(child) {
      child.stdout?.on('data', (chunk: Buffer) => {
        shown += chunk
      })
      void (async () => {
        await until(async () => {
          await callDaemon(state, 'chatty.say', { times: 1 })
          return shown.includes('said 1 ')
        })
        await callDaemon(state, 'chatty.say', { times: 60 })
        await until(() => existsSync(`${log}.1`) && shown.includes('said 60 '))
        appendFileSync(log, 'no entry of the log\n')
        await until(() => shown.includes('\nno entry of the log\n'))
        child.kill('SIGINT')
      })()
    }
  })
  t.match(await done, { code: 0 })
  const numbers = [...shown.matchAll(/said (\d+) /g)].map(([, number]) => Number(number))
  t.same(
    numbers.slice(-60),
    Array.from({ length: 60 }, (_, index) => index + 1),
    'no line is lost or repeated'
  )
  t.match((await runSvc(folder, ['daemon', 'logs', '-n', '5'])).stdout, /(.*\n){5}/, 'the rotated log is read, too')
})
