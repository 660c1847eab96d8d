import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type App, args, serveApp } from './served-app.ts'

const SOURCE = `
@table
type Job { name: str, state: str }
@table
type Note { text: str }

@mutation
fn add(name: str, after: str, fails: bool) to Result[str] {
    db.Job.insert({ name: name, state: "waiting" })
    let run = run_later(after, finish(name, times = 2))
    if fails { return Error("refused") }
    Ok(run)
}

@mutation
fn add_at(name: str, time: int) to str { run_at(time, finish(name)) }

@mutation
fn finish(name: str, note: str = "done", times: int = 1) {
    for job in db.Job.where({ name: name }) { db.Job.update(job._id, { state: note }) }
    for n in range(times) { db.Note.insert({ text: name + " " + note }) }
}

@mutation
fn add_failing(name: str) to str { run_later("0s", fail_once(name)) }

fn fail_once(name: str) to Result[int] {
    db.Note.insert({ text: name })
    if db.Note.where({ text: name }).count() < 2 { return Error("not yet") }
    Ok(1)
}

@query fn jobs() to List[Job] { db.Job.all() }
@query fn notes(text: str) to int { db.Note.where({ text: text }).count() }

@test("deferred calls are performed at the end of a test")
fn deferred() { add("t", "1h", false)? }
`

/** Waits until a condition holds. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(25)
}

const notes = async (app: App, text: string) => (await app.get(`/api/query/notes${args({ text })}`)).body

t.test('a call is deferred by the transaction that commits it, and not by one that is rolled back', async t => {
  const app = await serveApp(t, SOURCE)
  const answer = await app.post('/api/mutation/add', { name: 'a', after: '50ms', fails: false })
  t.match(answer, { status: 200, body: /^[\w-]{36}$/ })
  t.match(await app.post('/api/mutation/add', { name: 'refused', after: '0s', fails: true }), { status: 500 })
  await until(async () => (await notes(app, 'a done')) === 2)
  t.match((await app.get('/api/query/jobs')).body, [{ name: 'a', state: 'done' }])
  t.equal(await notes(app, 'refused done'), 0)

  await app.post('/api/mutation/add_at', { name: 'b', time: Date.now() + 30 })
  await until(async () => (await notes(app, 'b done')) === 1)
  t.equal(await notes(app, 'a done'), 2, 'it runs once')
})

t.test('a deferred call that returns an Error is repeated', async t => {
  const app = await serveApp(t, SOURCE)
  await app.post('/api/mutation/add_failing', { name: 'x' })
  await until(async () => (await notes(app, 'x')) === 2)
  await sleep(50)
  t.equal(await notes(app, 'x'), 2)
})

t.test('deferred calls survive a killed server', async t => {
  const app = await serveApp(t, SOURCE)
  for (const name of ['a', 'b', 'c']) await app.post('/api/mutation/add', { name, after: '300ms', fails: false })
  await app.stop('SIGKILL')
  const again = await serveApp(t, SOURCE, {}, app.folder)
  for (const name of ['a', 'b', 'c']) await until(async () => (await notes(again, `${name} done`)) !== 0)
  for (const name of ['a', 'b', 'c']) t.equal(await notes(again, `${name} done`), 2, name)
  t.match((await again.get('/api/query/jobs')).body, [{ state: 'done' }, { state: 'done' }, { state: 'done' }])
})
