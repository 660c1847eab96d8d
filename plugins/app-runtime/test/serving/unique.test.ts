import t from 'tap'
import { serveApp } from './served-app.ts'

const SOURCE = `
@table
type User { @unique email: str  team: str = "a"  nick: str = "n" }

@index User.nick_in_team on (team, nick) with { unique: true }

@mutation
fn add(email: str, nick: str) to int { db.User.insert({ email, nick }) }

@mutation
fn add_or_zero(email: str, nick: str) to int {
    match db.User.insert({ email, nick }) {
        Ok(id) => id
        Error(reason) => 0
    }
}

@mutation
fn add_asked(email: str, nick: str) to Result[int] {
    let id = db.User.insert({ email, nick })?
    Ok(id)
}

@mutation
fn rename(id: int, email: str) to Unit { db.User.update(id, { email: email }) }

@query
fn emails() to List[str] { for user in db.User.all() { user.email } }
`

t.test('a taken value is a conflict for the caller and an Error for the program', async t => {
  const { get, post } = await serveApp(t, SOURCE)
  const add = (name: string, email: string, nick: string) => post(`/api/mutation/${name}`, { email, nick })
  t.same(await add('add', 'a@x', '1'), { status: 200, body: 1 })
  t.same((await add('add', 'b@x', '2')).status, 200)
  t.match(await add('add', 'a@x', '3'), {
    status: 409,
    body: {
      error: 'User: another row has the same email',
      code: 'RUN_CONSTRAINT',
      details: { table: 'User', constraint: 'unique', columns: ['email'] }
    }
  })
  t.match(await add('add', 'c@x', '1'), {
    status: 409,
    body: { code: 'RUN_CONSTRAINT', details: { table: 'User', columns: ['team', 'nick'] } }
  })
  t.match(await post('/api/mutation/rename', { id: 2, email: 'a@x' }), {
    status: 409,
    body: { code: 'RUN_CONSTRAINT', details: { columns: ['email'] } }
  })
  t.same(await add('add_or_zero', 'a@x', '4'), { status: 200, body: 0 })
  t.match(await add('add_asked', 'a@x', '5'), {
    status: 500,
    body: { code: 'RUN_REFUSED', error: 'User: another row has the same email' }
  })
  t.same(await get('/api/query/emails'), { status: 200, body: ['a@x', 'b@x'] })
  t.match(await get('/openapi.json'), {
    body: { paths: { '/api/mutation/add': { post: { responses: { '409': Object } } } } }
  })
})
