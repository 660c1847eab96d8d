import { setTimeout as sleep } from 'node:timers/promises'
import { FileConnection } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { type App, ask, serveApp } from '../serving/served-app.ts'

const SOURCE = `
@table
type Note { text: str }

actor Counter {
    state n: int
    state seen: List[int]
    on add(by: int) to int {
        n += by
        seen = seen.append(by)
        n
    }
    on checked(by: int) to Result[int] {
        n += by
        db.Note.insert({ text: "checked " + str(by) })
        if by > 10 { return Error("too much") }
        Ok(n)
    }
    on all() to List[int] { seen }
}

let counter = spawn(Counter)

activity write(text: str) to Result[int] { db.Note.insert({ text: text }) }

workflow story(name: str) to Result[str] {
    write(name + " begins")?
    workflow_wait("700ms")
    write(name + " goes on")?
    let how = workflow_wait_signal("end")
    write(name + " ends " + how.mood)?
    Ok("told " + name)
}

workflow careless() to Result[int] {
    db.Note.insert({ text: "directly" })
    Ok(1)
}

@server
fn tell(name: str) to Result[str] { story(name) with { id: "story-" + name, detach: true } }

@server
fn told(name: str) to Result[str] { story(name) with { id: "story-" + name } }

@server
fn directly() to Result[int] { careless() }

@mutation
fn tell_and_wait(name: str) to Result[str] { story(name) }

@mutation
fn tell_later(name: str, fails: bool) to Result[str] {
    let run = story(name) with { id: "story-" + name, detach: true }
    counter.send("add", 1000)
    if fails { return Error("no story") }
    run
}

@query
fn notes() to List[str] { db.Note.all().map(fn(note) note.text) }

@server
fn add(by: int) to int { counter.add(by) }

@server
fn checked(by: int) to Result[int] { counter.checked(by) }

@mutation
fn send(by: int) to Unit { counter.send("add", by) }

@server
fn seen() to List[int] { counter.all() }
`

async function until<A>(look: () => Promise<A>, is: (found: A) => boolean): Promise<A> {
  for (let left = 4_800; ; left--) {
    const found = await look()
    if (is(found) || left === 0) return found
    await sleep(25)
  }
}

const notes = async (app: App): Promise<string[]> => (await app.get('/api/query/notes')).body as string[]

const run = async (app: App, id: string): Promise<{ readonly run: { readonly status: string } }> =>
  (await ask(`${app.url}/api/workflows/${id}`)).body as { readonly run: { readonly status: string } }

function database(t: Test, folder: string): FileConnection {
  const file = `${folder}/.vox/store.db`
  const connection = new FileConnection({ file, busyTimeoutMs: 5000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  return connection
}

t.test('a run survives the end of its process, and is signalled over HTTP', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE })
  const first = await serveApp(t, '', {}, folder)
  t.match(await first.post('/api/tell', { name: 'a' }), { status: 200, body: 'story-a' })
  await until(
    () => notes(first),
    found => found.length === 1
  )
  t.equal(await first.stop('SIGKILL'), 'SIGKILL')
  const app = await serveApp(t, '', { 'app-runtime.time_limit_ms': 2000 }, folder)
  const found = await until(
    () => notes(app),
    list => list.length === 2
  )
  t.same(found, ['a begins', 'a goes on'])
  t.match(await app.post('/api/told', { name: 'a' }), { status: 503, body: { code: 'RUN_WORKFLOW_PENDING' } })
  t.match(await run(app, 'story-a'), { run: { status: 'waiting', waits_for: 'end', completed_steps: 3 } })
  const signals = `${app.url}/api/workflows/story-a/signals`
  const signal = { key: 'end', payload: { mood: 'well' } }
  t.match(
    await ask(signals, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(signal)
    }),
    { status: 200 }
  )
  t.match(
    await until(
      () => run(app, 'story-a'),
      ({ run }) => run.status === 'completed'
    ),
    { run: { status: 'completed' }, result: { $tag: ['Ok', ['told a']] } }
  )
  t.same(await notes(app), ['a begins', 'a goes on', 'a ends well'])
  t.match(
    await app.post('/api/told', { name: 'a' }),
    { status: 200, body: 'told a' },
    'the result of the run is stored'
  )
  t.match(await ask(`${app.url}/api/workflows/nobody`), { status: 404 })
  const rows = database(t, folder).rows(
    "SELECT session_id, metadata_json FROM research_metrics WHERE metric_type = 'workflow_journal_entry'"
  )
  t.equal(rows[0]?.[0], 'workflow:default')
  t.match(JSON.parse(String(rows[0]?.[1])), {
    workflow: 'story',
    run_id: 'story-a',
    entry: { event: 'WorkflowStarted', journal_version: 1 }
  })
})

let shared: App
t.before(async () => {
  shared = await serveApp(t as never, SOURCE)
})

t.test('a cancelled run stops', async t => {
  const app = shared
  await app.post('/api/tell', { name: 'b' })
  await until(
    () => notes(app),
    found => found.length === 1
  )
  const cancel = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.match(await ask(`${app.url}/api/workflows/story-b/cancel`, cancel), { body: { status: 'cancelled' } })
  await sleep(1200)
  t.same(await notes(app), ['b begins'])
  t.match(await app.post('/api/told', { name: 'b' }), { status: 500, body: { code: 'RUN_WORKFLOW_FAILED' } })
})

t.test('runs started by a mutation are committed with it, or not at all', async t => {
  const app = shared
  const storyNotes = async (): Promise<string[]> => (await notes(app)).filter(text => text.startsWith('d'))
  t.match(await app.post('/api/mutation/tell_and_wait', { name: 'c' }), {
    status: 409,
    body: { code: 'RUN_WORKFLOW_TRANSACTION' }
  })
  t.equal((await app.post('/api/mutation/tell_later', { name: 'c', fails: true })).status, 500)
  t.match(await app.post('/api/mutation/tell_later', { name: 'd', fails: false }), { status: 200, body: 'story-d' })
  t.same(await until(storyNotes, found => found.length === 2), ['d begins', 'd goes on'])
  t.same((await app.post('/api/seen', {})).body, [1000])
  t.match(await app.post('/api/directly', {}), { status: 500, body: { code: 'RUN_WORKFLOW_UNREPEATABLE' } })
  t.same(await storyNotes(), ['d begins', 'd goes on'])
})

t.test('handlers of one instance run one at a time, in all threads', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE })
  const app = await serveApp(t, '', { 'app-runtime.threads': 4, 'app-runtime.workflow_journal_off': true }, folder)
  const answers = await Promise.all(Array.from({ length: 120 }, () => app.post('/api/add', { by: 1 })))
  t.same(
    answers.map(({ body }) => Number(body)).sort((a, b) => a - b),
    Array.from({ length: 120 }, (_, index) => index + 1)
  )
  for (let by = 1; by <= 20; by++) await app.post('/api/mutation/send', { by: 1000 + by })
  const seen = (await app.post('/api/seen', {})).body as number[]
  t.same(
    seen.slice(120),
    Array.from({ length: 20 }, (_, index) => 1001 + index),
    'messages are handled in order, before the next call'
  )
  t.match(await app.post('/api/checked', { by: 50 }), { status: 500, body: { error: 'too much' } })
  t.same(await notes(app), [], 'an Error rolls back the writes of the handler')
  const before = (await app.post('/api/add', { by: 0 })).body
  t.match(await app.post('/api/checked', { by: 5 }), { status: 200, body: Number(before) + 5 })
  t.same(await notes(app), ['checked 5'])
  t.equal(await app.stop('SIGKILL'), 'SIGKILL')
  const again = await serveApp(t, '', {}, folder)
  t.equal((await again.post('/api/add', { by: 0 })).body, Number(before) + 5, 'the state is stored')
  const rows = database(t, folder).rows('SELECT count(*) FROM research_metrics')
  t.same(rows, [[0]])
})
