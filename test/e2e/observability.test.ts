import { once } from 'node:events'
import t from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, pluginPackage, serve } from './served-project.ts'

const INNER = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const inner = defineOperation({ id: 'demo.inner', summary: 'Log', input: t.object({}), output: t.object({}), effect: 'read' })
const outer = defineOperation({
  id: 'demo.outer', summary: 'Call another one', input: t.object({}), output: t.object({}), effect: 'read',
  expose: { http: { method: 'GET', path: '/v1/outer' } }
})
const broken = defineOperation({
  id: 'demo.broken', summary: 'Fail', input: t.object({}), output: t.object({}), effect: 'read',
  expose: { http: { method: 'GET', path: '/v1/broken' } }
})
const open = defineOperation({
  id: 'demo.open', summary: 'Take a secret', input: t.object({ key: t.secret() }), output: t.object({}), effect: 'read',
  expose: { http: { method: 'GET', path: '/v1/vault/:key' } }
})
export default definePlugin({
  name: 'demo',
  operations: [inner, outer, broken, open],
  activate(ctx) {
    ctx.implement(inner, (_input, call) => { call.log.info('deep inside'); return {} })
    ctx.implement(outer, (_input, call) => ctx.call(inner, {}, { parent: call }))
    ctx.implement(broken, () => { throw new Error('by accident') })
    ctx.implement(open, ({ key }) => { throw new Error('no vault for ' + key) })
  }
})
`
const ONLY = ['--only', 'http,daemon,observability,demo', '--set', 'kernel.plugin_directories=["plugins"]']

t.test('logs and requests are found by x-request-id', async t => {
  const folder = makeProject(t, {
    'plugins/demo/package.json': pluginPackage('demo'),
    'plugins/demo/src/plugin.ts': INNER,
    'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n'
  })
  const server = await serve(t, folder, [...ONLY, '--set', 'plugins.http.access_log="errors"'])
  const get = (path: string, id: string) => fetch(server.url + path, { headers: { 'x-request-id': id } })
  t.equal((await get('/v1/outer', 't-1')).status, 200)
  t.equal((await get('/v1/broken', 't-2')).status, 500)
  t.equal((await get('/nowhere?token=1', 't-3')).status, 404)
  t.equal((await get('/v1/vault/HIDDEN-KEY', 't-5')).status, 500)
  // Requests that do not reach the operation.
  const post = { method: 'POST', headers: { 'x-request-id': 't-6' } }
  const refused = await fetch(`${server.url}/v1/vault/HIDDEN-KEY`, post)
  t.equal(refused.status, 405)
  t.match(await refused.json(), { error: { message: /^\/v1\/vault\/\*\*\* does not accept POST/ } })
  t.equal((await get('/v1/vault/HIDDEN-KEY-%zz', 't-7')).status, 400)
  t.equal((await get('/v1/vault/HIDDEN-KEY/more', 't-8')).status, 404)
  // The input of an earlier call is a known secret.
  t.equal((await get('/nowhere/HIDDEN%2DKEY', 't-9')).status, 404)

  const logs = async (...argv: string[]) => JSON.parse((await runSvc(folder, ['logs', '--json', ...argv])).stdout).lines
  t.match(await logs('--request', 't-1'), [{ plugin: 'demo', message: 'deep inside', fields: { request_id: 't-1' } }])
  const failed = await logs('--request', 't-2')
  t.ok(failed.some((line: any) => line.level === 'error' && /by accident/.test(JSON.stringify(line))))
  t.ok(failed.some((line: any) => line.message === 'request' && line.fields.status === 500))
  t.match(await logs('--request', 't-3'), [{ message: 'request', fields: { error_code: 'HTTP_NOT_FOUND' } }])

  const requests = async (...argv: string[]) =>
    JSON.parse((await runSvc(folder, ['requests', '--json', ...argv])).stdout)
  t.match(await requests('--request', 't-1'), {
    requests: [{ status: 200, route: '/v1/outer', plugin: 'demo', operation: 'demo.outer', principal: 'local' }]
  })
  t.match(await requests('--failed'), {
    requests: [
      { request_id: 't-2', path: '/v1/broken' },
      { request_id: 't-3', path: '/nowhere' },
      { request_id: 't-5', path: '/v1/vault/***' },
      { request_id: 't-6', path: '/v1/vault/***' },
      { request_id: 't-7', path: '/v1/vault/***' },
      { request_id: 't-8', path: '/v1/vault/***' },
      { request_id: 't-9', path: '/nowhere/***' }
    ]
  })
  const everything =
    (await runSvc(folder, ['logs', '--json'])).stdout + (await runSvc(folder, ['requests', '--json'])).stdout
  t.notMatch(everything, /HIDDEN-KEY/, 'a secret in a request appears in no line and no record')
  const table = await runSvc(folder, ['requests'])
  t.match(table.stdout, /t-2.*GET.*\/v1\/broken.*500.*demo.*OPR_FAILED/)

  let shown = ''
  let isInterrupted = false
  const following = runSvc(folder, ['logs', '--follow', '--request', 't-4'], {
    onStart(child) {
      child.stdout?.on('data', (chunk: Buffer) => {
        shown += chunk
        // A second signal would end the process at once.
        if (shown.includes('deep inside') && !isInterrupted) isInterrupted = child.kill('SIGINT')
      })
      const ended = once(child, 'exit').then(() => true)
      void (async () => {
        while (!(await Promise.race([ended, get('/v1/outer', 't-4').then(() => false)]))) {
          await new Promise(resolve => setTimeout(resolve, 100))
        }
      })()
    }
  })
  t.equal((await following).code, 130)

  await server.stop()
  t.match(await logs('--request', 't-1'), [{ message: 'deep inside' }], 'lines are read from the log file')
  t.match(await requests(), {
    requests: [{ request_id: 't-2' }, {}, { request_id: 't-5' }, {}, {}, {}, {}],
    note: /from the files in/
  })
})

const APP = `
@table
type Note { text: str }

@mutation
fn add(text: str, by: int) to int {
    let id = db.Note.insert({ text: text })
    id + 10 / by - 10 / by
}
`

t.test('one request is named by its id in the record, the log, the spans and on the command line', async t => {
  const folder = makeProject(t, {})
  const only = ['--only', 'http,daemon,observability,database,orchestrator,orchestrator-tools']
  const server = await serve(t, folder, [...only, '--set', 'plugins.http.access_log="all"'])
  const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`
  const response = await fetch(`${server.url}/api/orchestrator/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 't-1', traceparent },
    body: JSON.stringify({ description: 'HIDDEN-DESCRIPTION', files: [] })
  })
  t.equal(response.status, 201)
  t.equal(response.headers.get('x-request-id'), 't-1')
  const json = async (...argv: string[]) => JSON.parse((await runSvc(folder, [...argv, '--json'])).stdout)

  t.match(await json('requests', '--request', 't-1'), {
    requests: [{ request_id: 't-1', trace_id: 'a1'.repeat(16), status: 201, operation: 'orchestrator.submitTask' }]
  })
  t.match((await json('logs', '--request', 't-1')).lines, [{ message: 'request', fields: { request_id: 't-1' } }])
  const { steps, trace_id } = await json('trace', 't-1')
  t.equal(trace_id, 'a1'.repeat(16))
  const named = (name: string) => steps.find((step: any) => step.name === name)
  t.match(named('POST /api/orchestrator/tasks'), { kind: 'request', request_id: 't-1', depth: 0 })
  t.match(named('orchestrator.submitTask'), { kind: 'operation', request_id: 't-1', depth: 1 })
  t.match(named('routing'), { plugin: 'orchestrator', request_id: 't-1', depth: 2 })
  t.match(named('commit'), { plugin: 'orchestrator', request_id: 't-1' })
  const statements = steps.filter((step: any) => step.plugin === 'database' && step.statement !== null)
  t.ok(statements.length > 0, 'the trace has database statements')
  for (const statement of statements) t.equal(statement.request_id, 't-1')
  t.notMatch(JSON.stringify(steps), /HIDDEN-DESCRIPTION/, 'values are not part of a trace')
  const shown = await runSvc(folder, ['trace', 't-1'])
  t.match(shown.stdout, /request t-1/)
  t.match(shown.stdout, /orchestrator\.submitTask/)
  const { traces } = await json('traces')
  t.ok(traces.some((each: any) => each.request_id === 't-1' && each.spans === steps.length))
})

t.test('a failed request of a program shows its SQL, a successful one only if it is recorded', async t => {
  const folder = makeProject(t, { 'app.vox': APP })
  const app = ['--set', 'plugins.app-runtime.program="app.vox"', '--set', 'plugins.app-runtime.port=0']
  const only = ['--only', 'app-runtime,http,daemon,observability']
  const server = await serve(t, folder, [...only, ...app])
  const line = await server.line(/app listens on (http:\/\/[^\s"]+)/)
  const url = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] as string
  const add = (text: string, by: number, id: string, headers: object = {}) =>
    fetch(`${url}/api/mutation/add`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': id, ...headers },
      body: JSON.stringify({ text, by })
    })
  const details = async (id: string) =>
    JSON.parse((await runSvc(folder, ['call', 'observability.request', '--json', JSON.stringify({ id })])).stdout)
  t.equal((await add('HIDDEN-TEXT', 0, 'r-1')).status, 500)
  t.equal((await add('also fine', 1, 'r-3', { traceparent: `00-${'c3'.repeat(16)}-${'d4'.repeat(8)}-01` })).status, 200)

  const failed = await details('r-1')
  t.match(failed.statements, [{ statement: /insert into/i, error: null, rows: 1 }])
  t.match(failed.steps, [
    { depth: 0 },
    { name: 'mutation add', plugin: 'app-runtime', state: 'failed', depth: 1 },
    { depth: 2 }
  ])
  t.ok(failed.lines.length > 0, 'and its log lines')
  t.notMatch(JSON.stringify(failed.statements), /HIDDEN-TEXT/)
  // The SQL of a slow call is recorded, too, and on a busy machine a call may be slow.
  let fine = { statements: [{}], note: '' }
  for (let at = 0; at < 50 && fine.statements.length > 0; at++) {
    t.equal((await add('fine', 1, `fine-${at}`)).status, 200)
    fine = await details(`fine-${at}`)
  }
  t.same(fine.statements, [])
  t.match(fine.note, /No SQL was recorded/)
  t.match((await details('r-3')).statements, [{ statement: /insert into/i }, { statement: 'COMMIT' }])
})
