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
  t.equal((await fetch(`${server.url}/v1/vault/HIDDEN-KEY`, post)).status, 405)
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
  const following = runSvc(folder, ['logs', '--follow', '--request', 't-4'], {
    onStart(child) {
      child.stdout?.on('data', (chunk: Buffer) => {
        shown += chunk
        if (shown.includes('deep inside')) child.kill('SIGINT')
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
