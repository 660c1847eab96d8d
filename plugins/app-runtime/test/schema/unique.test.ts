import { isSvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { apply, freshName, openStore, rowsOf, stepTexts } from './schema-fixture.ts'
import { intact, sqliteLines } from './sqlite-tool.ts'

const PLAIN = '@table type User { email: str  team: Option[str]  price: dec }\n'
const UNIQUE = '@table type User { @unique email: str  team: Option[str]  price: dec }\n'

async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await promise
  } catch (error) {
    if (isSvcError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('the migration was not refused')
}

t.test('a unique column and a unique index refuse a second row with the values', async t => {
  const store = await openStore()
  await apply(store, `${UNIQUE}@index User.of_team on (team, price) with { unique: true }\n`)
  await store.execute(
    "INSERT INTO user (email, team, price) VALUES ('a', 'x', '1.5'), ('b', NULL, '1'), ('c', NULL, '1')"
  )
  await t.rejects(store.execute("INSERT INTO user (email, price) VALUES ('a', '2')"), { code: 'DBS_CONSTRAINT' })
  await t.rejects(store.execute("INSERT INTO user (email, team, price) VALUES ('d', 'x', '1.50')"), {
    code: 'DBS_CONSTRAINT'
  })
  await store.execute("INSERT INTO user (email, team, price) VALUES ('d', 'y', '1.50')")
})

t.test('a column becomes unique if its values are, and may become ordinary again', async t => {
  const store = await openStore()
  await apply(store, PLAIN)
  await store.execute("INSERT INTO user (email, price) VALUES ('a', '1'), ('b', '1')")
  const unique = await apply(store, UNIQUE)
  t.same(stepTexts(unique), ['safe User gets the unique index idx_user_unique_email'])
  t.same((await apply(store, UNIQUE)).plan.statements, [])
  await t.rejects(store.execute("INSERT INTO user (email, price) VALUES ('a', '1')"), { code: 'DBS_CONSTRAINT' })
  const plain = await apply(store, PLAIN)
  t.same(stepTexts(plain), ['safe User loses its index idx_user_unique_email'])
  await store.execute("INSERT INTO user (email, price) VALUES ('a', '1')")
})

t.test('a migration that meets duplicates shows five of them and changes nothing', async t => {
  const file = freshName()
  const store = await openStore(file)
  await apply(store, PLAIN)
  for (let index = 0; index < 15; index++)
    await store.execute('INSERT INTO user (email, price) VALUES (?, ?)', [`user ${index % 7}`, '1'])
  const before = await rowsOf(store, 'SELECT name, sql FROM sqlite_master ORDER BY name')
  const { code, message } = await refusal(apply(store, UNIQUE, { force: true }))
  t.equal(code, 'RUN_SCHEMA_REFUSED')
  t.match(
    message,
    /User cannot have unique email: 7 values are in several rows: "user 0" \(_id 1, 8, 15\), "user 1" \(_id 2, 9\)/
  )
  t.match(message, /"user 4" \(_id 5, 12\), and 2 more/)
  t.notMatch(message, 'user 5')
  t.same(await rowsOf(store, 'SELECT name, sql FROM sqlite_master ORDER BY name'), before)
  t.same(await rowsOf(store, 'SELECT count(*) FROM user'), [[15]])
  intact(t, file)
  const emails = sqliteLines(file, 'SELECT count(*), count(DISTINCT email) FROM user')
  if (emails !== null) t.same(emails, ['15|7'])
})

t.test('values are compared as they will be stored', async t => {
  const store = await openStore()
  await apply(store, PLAIN)
  await store.execute("INSERT INTO user (email, price) VALUES ('1', '1.0'), ('1.0', '1')")
  const decimal = await refusal(apply(store, PLAIN.replace('price', '@unique price')))
  t.match(decimal.message, 'User cannot have unique price: 1 value is in several rows: "1" (_id 1, 2)')
  const number = await refusal(
    apply(store, UNIQUE.replace('email: str', 'email: float'), { force: true, copyTo: async () => '' })
  )
  t.match(number.message, 'User cannot have unique email: 1 value is in several rows: 1 (_id 1, 2)')
  const added = await refusal(apply(store, PLAIN.replace('}', '@unique code: int = 7 }')))
  t.match(added.message, 'User cannot have unique code: 1 value is in several rows: 7 (_id 1, 2)')
  await apply(store, PLAIN.replace('}', '@unique code: Option[int] }'))
  t.same(await rowsOf(store, 'SELECT count(*) FROM user'), [[2]])
})
