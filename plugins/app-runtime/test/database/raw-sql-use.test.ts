import t from 'tap'
import { rawSqlUseOf } from '#database'
import { programFrom } from '../run-program.ts'

t.test('functions that can reach raw SQL are found, directly and through others', async t => {
  const sql = rawSqlUseOf(
    programFrom(`
@table
type Task { title: str }
fn raw(seed: int = 0) to int { len(db.query("SELECT 1")) }
fn between() to int { raw() }
@mutation
fn direct() to any { db.query("DELETE FROM task") }
@mutation
fn far() to int { between() }
@mutation
fn handed() to any { [1].map(raw) }
@mutation
fn plain() to int { db.Task.count() }
http get "/raw" { between() }
http get "/plain" { plain() }
actor Counter {
    state n: int = 0
    on add() to int { far() }
}
`)
  )
  t.equal(sql.isUsed, true)
  t.equal(sql.isInActors, true)
  for (const name of ['raw', 'between', 'direct', 'far', 'handed', 'GET /raw']) t.equal(sql.reaches(name), true, name)
  for (const name of ['plain', 'GET /plain', 'Task']) t.equal(sql.reaches(name), false, name)
})

t.test('raw SQL in constants and conditions counts for every function', async t => {
  const { reaches } = rawSqlUseOf(
    programFrom(`
@table
type Task { title: str }
let ask = fn() { db.query("SELECT 1") }
@mutation
fn plain() to int { db.Task.count() }
`)
  )
  t.equal(reaches('plain'), true)
})

t.test('a program without raw SQL has no such functions', async t => {
  const sql = rawSqlUseOf(programFrom('fn query(n: int) to int { n }\nfn main() { print(str(query(1))) }'))
  t.match(sql, { isUsed: false, isInActors: false })
  t.equal(sql.reaches('main'), false)
})

t.test('tests may use raw SQL', t => {
  const { isUsed } = rawSqlUseOf(programFrom('@test\nfn asks() { assert(len(db.query("SELECT 1")) is 1) }'))
  t.equal(isUsed, true)
  t.end()
})
