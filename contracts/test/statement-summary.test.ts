import { MAX_STATEMENT_TEXT, summariseStatement } from '@svc/contracts'
import t from 'tap'

t.test('a statement is named by its verb and its table', t => {
  for (const [sql, name] of [
    ['select * from "notes" where id = 1', 'SELECT notes'],
    ['with a as (select 1) insert or replace into t(x) values (1)', 'INSERT t'],
    ['UPDATE notes SET a = 1', 'UPDATE notes'],
    ['create table if not exists `foo` (id int)', 'CREATE foo'],
    ['-- why\ndelete from [tab]', 'DELETE tab'],
    ["select 'a' from t1 join t2", 'SELECT t1'],
    ['commit', 'COMMIT'],
    ['', 'SQL']
  ] as const)
    t.equal(summariseStatement(sql).name, name, sql)
  t.end()
})

t.test('values and comments are not part of the text', t => {
  for (const sql of [
    "select * from t where a = 'secret' and b = 'it''s secret'",
    "insert into t values (x'5ec4e7', 5347, 5347.5e3, 0x5347)",
    "update t set a = 'secret",
    'select "a secret" from t',
    'select `a secret`, [a secret] from t',
    'select 1 -- secret',
    'select /* secret */ 1',
    'select /* secret'
  ]) {
    const { name, text } = summariseStatement(sql)
    t.notMatch(`${name} ${text}`, /secret|5ec4e7|5347/, sql)
  }
  t.equal(
    summariseStatement('select  "a"\n from t where b = ?1 and c = :name').text,
    'select "a" from t where b = ?1 and c = :name'
  )
  t.end()
})

t.test('a long statement is cut', t => {
  const { text } = summariseStatement(`select ${'a, '.repeat(10_000)} b from t`)
  t.equal(text.length, MAX_STATEMENT_TEXT)
  t.match(text, /…$/)
  t.equal(summariseStatement(`select '${'x'.repeat(100_000)}'`).text, 'select ?…')
  t.end()
})
