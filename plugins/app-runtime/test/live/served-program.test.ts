import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { serveApp } from '../serving/served-app.ts'
import { type EventClient, listen } from './event-client.ts'

const SOURCE = `@table type Note { title: str body: Option[str] }
@query fn notes() to List[Note] { db.Note.all().live("notes") }
@mutation fn add(title: str) to int { db.Note.insert({ title: title, body: Some("b") }) }
`

async function next({ events }: EventClient): Promise<unknown> {
  const { value, done } = await events.next()
  return done === true ? null : JSON.parse(value.data)
}

t.test('a served program announces changes, also of tables that a saved version adds', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE })
  const save = (source: string): void => writeFileSync(join(folder, 'app.vox'), source)
  const { app, get, post, line } = await serveApp(t, SOURCE, { 'app-runtime.watch': true }, folder)
  const [changes, results] = [await listen(`${app}/api/live/Note`), await listen(`${app}/api/live/query/notes`)]
  const socket = new WebSocket(`${app.replace('http', 'ws')}/api/live`)
  await once(socket, 'open')
  t.match(await next(changes), { after_id: 0 })
  t.same(await next(results), [])
  t.match(await post('/api/mutation/add', { title: 'one' }), { status: 200, body: 1 })
  t.match(await next(changes), { id: 1, topic: 'Note', table: 'Note', op: 'insert', row_id: 1 })
  t.same(await next(results), [{ _id: 1, title: 'one', body: 'b' }])

  const closed = once(socket, 'close')
  save(SOURCE.replace('body: Option[str]', 'body: Option[str] stars: int = 3'))
  t.equal((await closed)[0], 1012)
  t.same([await next(changes), await next(results)], [null, null], 'streams end with their program')
  await line(/was reloaded in/)
  t.same((await get('/api/query/notes')).body, [{ _id: 1, title: 'one', body: 'b', stars: 3 }])
  await post('/api/mutation/add', { title: 'two' })
  const again = await listen(`${app}/api/live/Note`, { 'last-event-id': changes.lastId() })
  t.match(await next(again), { id: 2, row_id: 2 })

  save(SOURCE.replace('body: Option[str]', 'stars: int = 3').replace(', body: Some("b")', ''))
  const refusal = await line(/was not reloaded/)
  t.match(refusal, /Note\.body is dropped, with the values of 2 rows \[loses data\]/)
  t.match((await get('/api/query/notes')).body, [{ body: 'b' }, { body: 'b' }], 'the previous program continues')
  await post('/api/mutation/add', { title: 'three' })
  t.match(await next(again), { id: 3, row_id: 3 }, 'the streams of the previous program continue')
  again.close()
})
