import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, serve } from './served-project.ts'

const ONLY = ['--only', 'http,database']

t.test('a served project is ready when its database is, and svc db backup works meanwhile', async t => {
  const folder = makeProject(t, {})
  const served = await serve(t, folder, ONLY)
  const answer = await fetch(`${served.url}/ready`)
  t.equal(answer.status, 200)
  t.match(await answer.json(), {
    status: 'ready',
    schema_version: 1,
    baseline_digest: /^0x[0-9a-f]{64}$/,
    capabilities: { fts: true, durable: true, replica: false },
    checks: [{ name: 'database', plugin: 'database', ok: true }]
  })
  t.ok(existsSync(join(folder, '.vox/store.db')))
  const copied = await runSvc(folder, ['db', 'backup', 'copy.db', '--json'])
  t.equal(copied.code, 0, copied.stderr)
  t.same(JSON.parse(copied.stdout).bytes, readFileSync(join(folder, 'copy.db')).length)
  const refused = await runSvc(folder, ['db', 'restore', 'copy.db'])
  t.equal(refused.code, 7, 'restore fails while the server has the database open')
  t.match(refused.stderr, /DBS_BUSY/)
  t.equal(await served.stop(), 0)
  const restored = await runSvc(folder, ['db', 'restore', 'copy.db'])
  t.equal(restored.code, 0, restored.stderr)
  t.match(await runSvc(folder, ['db', 'status']), { code: 0, stdout: /schema version 1/ })
})

t.test('with an invalid database /ready fails and names the file', async t => {
  const folder = makeProject(t, { 'letter.db': 'dear reader, '.repeat(500) })
  const served = await serve(t, folder, [...ONLY, '--set', 'plugins.database.path=letter.db'])
  const answer = await fetch(`${served.url}/ready`)
  t.equal(answer.status, 503)
  t.match(await answer.json(), {
    status: 'not_ready',
    schema_version: null,
    checks: [{ name: 'database', ok: false, detail: /letter\.db.*not a database/ }]
  })
  t.equal(await served.stop(), 0)
  const status = await runSvc(folder, ['db', 'status', '--json'], { env: { SVC_DB_PATH: 'letter.db' } })
  t.equal(status.code, 1)
  t.match(JSON.parse(status.stdout), { healthy: false, location: join(folder, 'letter.db') })
})
