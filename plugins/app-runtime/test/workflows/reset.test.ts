import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type App, ask, serveApp } from '../serving/served-app.ts'

const SOURCE = `
@table
type Note { text: str }

activity write(text: str) to Result[int] { db.Note.insert({ text: text }) }
activity slow() to Result[int] {
    sleep("2s")
    Ok(1)
}

workflow inner(name: str) to Result[str] {
    write(name + " inner")?
    Ok(name)
}

workflow story(name: str) to Result[str] {
    write(name + " begins")?
    let how = workflow_wait_signal("go")
    write(name + " " + how)?
    inner(name)?
    Ok(name)
}

workflow lasting() to Result[int] { slow() }

@server
fn tell(name: str) to Result[str] { story(name) with { id: "story-" + name, detach: true } }
@server
fn last() to Result[str] { lasting() with { id: "lasting", detach: true } }
@query
fn notes() to List[str] { db.Note.all().map(fn(note) note.text) }
`

interface Run {
  readonly status: string
  readonly completed_steps: number
}

async function until<A>(look: () => Promise<A>, is: (found: A) => boolean): Promise<A> {
  for (let left = 4_800; ; left--) {
    const found = await look()
    if (is(found) || left === 0) return found
    await sleep(25)
  }
}

const notes = async (app: App): Promise<string[]> => (await app.get('/api/query/notes')).body as string[]

const run = async (app: App, id: string): Promise<Run> =>
  ((await ask(`${app.url}/api/workflows/${id}`)).body as { readonly run: Run }).run

const inStatus = (app: App, id: string, status: string) =>
  until(
    () => run(app, id),
    found => found.status === status
  )

const post = (app: App, path: string, body: unknown) =>
  ask(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE)
})

t.test('a run begins again at a step: with its signal, and with its child runs', async t => {
  await app.post('/api/tell', { name: 'a' })
  t.match(await inStatus(app, 'story-a', 'waiting'), { completed_steps: 1 })
  await post(app, '/api/workflows/story-a/signals', { key: 'go', payload: 'left' })
  t.match(await inStatus(app, 'story-a', 'completed'), { completed_steps: 3 })
  t.same(await notes(app), ['a begins', 'a left', 'a inner'])

  t.match(await post(app, '/api/workflows/story-a/reset', { step: 'story-2' }), {
    status: 200,
    body: { dropped: 1, text: /story-a is \w+; 1 step will run again/ }
  })
  await until(
    () => notes(app),
    found => found.length === 5
  )
  t.match(await inStatus(app, 'story-a', 'completed'), { completed_steps: 3 })
  t.same((await notes(app)).slice(3), ['a left', 'a inner'], 'the first step and the signal keep their results')

  t.match(await post(app, '/api/workflows/story-a/reset', {}), { status: 200, body: { dropped: 3 } })
  await until(
    () => notes(app),
    found => found.length === 8
  )
  t.match(await inStatus(app, 'story-a', 'completed'), { completed_steps: 3 })
  t.same((await notes(app)).slice(5), ['a begins', 'a left', 'a inner'], 'the consumed signal is consumed again')
  const { body } = await ask(`${app.url}/api/workflows/story-a`)
  const events = (body as { readonly journal: readonly { readonly event: string }[] }).journal.map(each => each.event)
  t.equal(events.filter(event => event === 'WorkflowReset').length, 2)
})

t.test('a cancelled run can be reset; a running run, an unknown step and an unknown run are refused', async t => {
  const before = (await notes(app)).length
  await app.post('/api/tell', { name: 'b' })
  await inStatus(app, 'story-b', 'waiting')
  t.match(await post(app, '/api/workflows/story-b/reset', { step: 'nowhere' }), {
    status: 404,
    body: { error: { code: 'RUN_WORKFLOW_UNKNOWN', message: /story-b has no step nowhere/ } }
  })
  t.match(await post(app, '/api/workflows/nothing/reset', {}), { status: 404 })
  await post(app, '/api/workflows/story-b/cancel', {})
  t.match(await run(app, 'story-b'), { status: 'cancelled' })
  t.match(await post(app, '/api/workflows/story-b/reset', {}), { status: 200, body: { dropped: 2 } })
  t.match(await inStatus(app, 'story-b', 'waiting'), { completed_steps: 1 })
  t.same((await notes(app)).slice(before), ['b begins', 'b begins'])
  await app.post('/api/last', {})
  await inStatus(app, 'lasting', 'running')
  t.match(await post(app, '/api/workflows/lasting/reset', {}), {
    status: 422,
    body: { error: { code: 'RUN_WORKFLOW_FAILED', message: /lasting is running/ } }
  })
})
