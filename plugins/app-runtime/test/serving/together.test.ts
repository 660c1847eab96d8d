import t from 'tap'
import { args, serveApp } from './served-app.ts'

const SOURCE = `
@table
type Entry { key: str }
@index Entry.by_key on (key)

@table
type Total { n: int }

@mutation
fn enter(key: str, how: str) to Result[int] {
    let id = db.Entry.insert({ key: key })?
    db.Total.insert({ n: 1 })
    if how is "refuse" { return Error("refused on purpose") }
    assert(how isnt "fail", "failed on purpose")
    Ok(id)
}

@query
fn entries() to List[Entry] { db.Entry.all().order_by("_id", "asc").limit(10000) }

@query
fn total() to int { db.Total.count() }

@query
fn has(key: str) to bool { db.Entry.filter({ key: key }).count() is 1 }
`

t.test('concurrent writers are committed or rolled back separately, and visible when acknowledged', async t => {
  const app = await serveApp(t, SOURCE)
  await app.post('/api/mutation/enter', { key: 'first', how: 'do' })
  const hows = ['do', 'do', 'refuse', 'do', 'fail'] as const
  const acknowledged = new Map<string, unknown>()
  const unseen: string[] = []
  const statuses = { do: new Set<number>(), refuse: new Set<number>(), fail: new Set<number>() }
  const enter = async (number: number): Promise<void> => {
    const how = hows[number % hows.length] as (typeof hows)[number]
    const key = `${how} ${number}`
    const { status, body } = await app.post('/api/mutation/enter', { key, how })
    statuses[how].add(status)
    if (status !== 200) return
    acknowledged.set(key, body)
    if ((await app.get(`/api/query/has${args({ key })}`)).body !== true) unseen.push(key)
  }
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => enter(100 * round + index)))
  }
  t.same([...statuses.do, ...statuses.refuse, ...statuses.fail], [200, 500, 500])
  const entries = (await app.get('/api/query/entries')).body as { _id: number; key: string }[]
  t.same(
    new Map(entries.slice(1).map(({ _id, key }) => [key, _id])),
    acknowledged,
    'all acknowledged changes are stored, and no others'
  )
  t.equal(acknowledged.size, 300)
  t.same((await app.get('/api/query/total')).body, 301)
  t.same(unseen, [])
})
