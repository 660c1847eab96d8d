import { join } from 'node:path'
import t from 'tap'
import { until } from '../../../../test/e2e/served-in-process.ts'
import { startHranaServer } from '../../../database/test/hrana-server.ts'
import { intact, sqliteLines } from '../schema/sqlite-tool.ts'
import { clientOf, PASSWORD, serveNotes, signUp } from './users-app.ts'

t.setTimeout(300_000)

t.test('two processes that share a remote database share users, sessions and the rules of rows', async t => {
  const file = join(t.testdir(), 'remote.db')
  const server = await startHranaServer(file, 'token')
  t.teardown(() => server.close())
  const set = [
    `plugins.database.url="${server.url}"`,
    'plugins.database.token="token"',
    'plugins.app-runtime.auth.secret=["a secret of 32 characters or more"]'
  ]
  const first = await serveNotes(t, undefined, set)
  const second = await serveNotes(t, undefined, set)
  const [ann, ben] = [await signUp(first, 'ann'), await signUp(second, 'ben')]

  t.same((await ann.get('/api/query/notes')).body, ['welcome ann'])
  t.same((await ben.get('/api/query/notes')).body, ['welcome ben'])
  t.equal((await clientOf(first).get('/api/query/notes')).status, 401)
  t.equal((await clientOf(first).get('/api/query/open_notes')).body, 0, 'no row is that of an anonymous caller')

  const there = clientOf(second)
  there.cookie = ann.cookie
  t.same((await there.get('/api/query/account')).body, 'ann', 'a session is valid in both processes')
  const added = await there.post('/api/mutation/add_note', { body: 'mine' })
  t.equal(added.status, 200)
  t.same((await ann.get('/api/query/notes')).body, ['welcome ann', 'mine'])
  t.equal((await ann.post('/api/mutation/add_for', { owner: 2, body: 'not hers' })).status, 403)
  t.equal((await ben.post('/api/mutation/edit', { id: added.body, body: 'not his' })).status, 403)
  t.same((await ben.get('/api/query/notes')).body, ['welcome ben'])

  const refused = await clientOf(first).post('/api/auth/sign_up', {
    email: 'refused@example.org',
    name: 'refused',
    password: PASSWORD
  })
  t.not(refused.status, 200)
  const again = await clientOf(second).post('/api/auth/sign_up', {
    email: 'ann@example.org',
    name: 'x',
    password: PASSWORD
  })
  t.not(again.status, 200, 'an address has one user')
  t.equal(
    (await clientOf(second).post('/api/auth/sign_in', { email: 'ann@example.org', password: 'wrong' })).status,
    401
  )

  t.equal((await there.post('/api/auth/sign_out')).status, 200)
  // The other process may remember the session for two seconds.
  const ended = await until(
    () => ann.get('/api/query/who'),
    ({ status }) => status === 401
  )
  t.equal(ended.status, 401, 'a session that one process ends is ended in the other')
  const back = clientOf(first)
  t.equal((await back.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })).status, 200)
  t.same((await back.get('/api/query/notes')).body, ['welcome ann', 'mine'])

  await first.close()
  await second.close()
  intact(t, file)
  const lines = sqliteLines(file, 'SELECT owner, body FROM note ORDER BY _id')
  if (lines !== null) t.same(lines, ['1|welcome ann', '2|welcome ben', '1|mine'])
  const users = sqliteLines(file, 'SELECT email, signups FROM user ORDER BY _id')
  if (users !== null) t.same(users, ['ann@example.org|1', 'ben@example.org|1'], 'a refused sign-up leaves no row')
})
