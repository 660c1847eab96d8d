import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { noPostgres } from '@svc/plugin-coordination-postgres/testing'
import t, { type Test } from 'tap'
import { makeProject, SVC_BIN } from '../../../../test/e2e/served-project.ts'
import { type App, ask, serveApp } from '../serving/served-app.ts'
import { startServer } from './open-shared.ts'

const run = promisify(execFile)

const SOURCE = `
@table
type Note { text: str }

activity write(text: str) to Result[int] { db.Note.insert({ text: text }) }
activity mesh_noop() to Result[int] { Ok(1) }

workflow story(name: str) to Result[str] {
    write(name + " begins")?
    workflow_wait("300ms")
    write(name + " goes on")?
    let how = workflow_wait_signal("end")
    write(name + " ends " + how.mood)?
    Ok("told " + name)
}

workflow short() to Result[int] { Ok(42) }

workflow remote() to Result[int] { mesh_noop() }

@server
fn tell(name: str) to Result[str] { story(name) with { id: "story-" + name, detach: true } }

@server
fn told(name: str) to Result[str] { story(name) with { id: "story-" + name } }

@server
fn remotely() to Result[int] { remote() }

@mutation
fn tell_later(name: str) to Result[str] {
    db.Note.insert({ text: name + " comes later" })
    story(name) with { id: "story-" + name, detach: true }
}

@mutation
fn tell_twice(name: str) to Result[str] {
    db.Note.insert({ text: name + " is rolled back" })
    story(name) with { id: "story-" + name, detach: true }
    Error("no")
}

actor Teller {
    state told: int = 0
    on tell(name: str) to Result[str] {
        told = told + 1
        story(name) with { id: "story-" + name, detach: true }
    }
}

@server
fn tell_by_actor(name: str) to Result[str] { spawn(Teller).tell(name) }

@query
fn notes() to List[str] { db.Note.all().map(fn(note) note.text) }
`

async function until<A>(look: () => Promise<A>, is: (found: A) => boolean): Promise<A> {
  for (let left = 2_400; ; left--) {
    const found = await look()
    if (is(found) || left === 0) return found
    await sleep(50)
  }
}

const notes = async (app: App): Promise<string[]> => (await app.get('/api/query/notes')).body as string[]

interface Shown {
  readonly run: { readonly status: string; readonly waits_for: string | null; readonly completed_steps: number }
}

const shown = async (app: App, id: string): Promise<Shown> =>
  (await ask(`${app.url}/api/workflows/${id}`)).body as Shown

const send = (app: App, path: string, body: unknown = {}) =>
  ask(`${app.url}/api/workflows/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })

/** Serves the program with a separate database and folder. */
function serveHost(t: Test, url: string, folder = makeHost(t, url)): Promise<App> {
  return serveApp(t, '', {}, folder, ['coordination-postgres'])
}

function makeHost(t: Test, url: string): string {
  const toml = `[coordination]\nurl = ${JSON.stringify(url)}\n[plugins.app-runtime]\ndurable_store = "coordination"\n`
  return makeProject(t, { 'app.vox': SOURCE, 'svc.toml': toml })
}

t.test('two hosts with separate databases share the runs of a program', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const first = await serveHost(t, server.url())
  const second = await serveHost(t, server.url())
  const awaitsEnd = (app: App, id: string) =>
    until(
      () => shown(app, id),
      ({ run }) => run?.waits_for === 'end'
    )
  const written = async (name: string) =>
    [...(await notes(first)), ...(await notes(second))].filter(note => note.startsWith(`${name} `)).sort()

  t.match(await first.post('/api/tell', { name: 'a' }), { status: 200, body: 'story-a' })
  t.match(await awaitsEnd(second, 'story-a'), { run: { status: 'waiting', completed_steps: 3 } })
  t.match(await first.post('/api/tell', { name: 'a' }), { body: 'story-a' }, 'the run is the same on both')

  t.match(await send(second, 'story-a/signals', { key: 'end', payload: { mood: 'well' } }), { status: 200 })
  t.match(await second.post('/api/told', { name: 'a' }), { status: 200, body: 'told a' })
  t.match(await first.post('/api/told', { name: 'a' }), { status: 200, body: 'told a' }, 'on the other host')
  t.same(await written('a'), ['a begins', 'a ends well', 'a goes on'], 'each step ran once')
  t.match(await send(first, 'story-a/signals', { key: 'end' }), { status: 422 }, 'the run has ended')

  await second.post('/api/tell', { name: 'b' })
  await awaitsEnd(first, 'story-b')
  t.match(await send(first, 'story-b/cancel'), { body: { status: 'cancelled' } })
  t.match(await shown(second, 'story-b'), { run: { status: 'cancelled' } })

  t.match(await send(second, 'story-a/reset', { step: 'nothing' }), { status: 404 })
  t.match(await send(second, 'story-a/reset', { step: 'story-3' }), {
    body: { dropped: 2, status: /pending|running|waiting/ }
  })
  t.match(await first.post('/api/told', { name: 'a' }), { status: 200, body: 'told a' }, 'its signal is consumed again')
  t.equal((await written('a')).filter(note => note === 'a ends well').length, 2)

  t.match(await first.post('/api/mutation/tell_later', { name: 'c' }), { status: 200, body: 'story-c' })
  await awaitsEnd(second, 'story-c')
  t.same(await written('c'), ['c begins', 'c comes later', 'c goes on'], 'a mutation starts a run')
  t.match(await first.post('/api/mutation/tell_twice', { name: 'e' }), { body: { code: 'RUN_REFUSED' } })
  t.match(await first.post('/api/tell_by_actor', { name: 'f' }), { status: 200, body: 'story-f' })
  await awaitsEnd(second, 'story-f')
  t.match(await send(second, 'story-e/cancel'), { status: 404 }, 'the run is rolled back with its transaction')
  t.match(await first.post('/api/remotely', {}), { status: 200, body: 1 }, 'a step for the mesh, without a mesh')
  for (const id of ['story-c', 'story-f'])
    t.match(await send(second, `${id}/cancel`), { body: { status: 'cancelled' } })

  // Which host performs a turn is open, so that the one that is killed has begun it.
  await first.post('/api/tell', { name: 'd' })
  await until(
    () => written('d'),
    found => found.length > 0
  )
  t.equal(await first.stop('SIGKILL'), 'SIGKILL')
  t.match(await awaitsEnd(second, 'story-d'), { run: { status: 'waiting' } })
  t.match(await send(second, 'story-d/signals', { key: 'end', payload: { mood: 'late' } }), { status: 200 })
  t.match(await second.post('/api/told', { name: 'd' }), { status: 200, body: 'told d' })
  t.ok((await notes(second)).includes('d ends late'))

  const { body: list } = await ask(`${second.url}/api/workflows`)
  t.match(list, { runs: [{ run_id: 'story-d' }] })
  const { body: timeline } = await ask(`${second.url}/api/workflows/story-d/timeline`)
  t.match(timeline, { run: { status: 'completed' }, bars: [{}] })
  t.match(await send(second, 'story-d/replay'), { status: 200, body: { deterministic: true } })
  const command = (...argv: string[]) => run(process.execPath, [SVC_BIN, 'workflow', ...argv], { cwd: second.folder })
  t.match((await command('list')).stdout, /story-d/)
  t.match((await command('run', 'app.vox', 'short', '--run-id', 'short-1')).stdout, /42/, 'a command of the host')
  t.match(await shown(second, 'short-1'), { run: { status: 'completed' } })
  t.match(await send(second, 'prune', { keep_runs: 0 }), { status: 200, body: { runs: 7 } })
  t.match(await ask(`${second.url}/api/workflows`), { body: { runs: [] } })
})

t.test('a run continues when its server was killed', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const app = await serveHost(t, server.url())
  t.match(await app.post('/api/tell', { name: 'a' }), { status: 200 })
  await until(
    () => notes(app),
    found => found.length > 0
  )
  await server.crash()
  const { status, body } = await app.post('/api/tell', { name: 'b' })
  t.ok(status >= 500, 'a run is not started without its server')
  t.match(body, { code: 'CRD_UNAVAILABLE' })
  t.match(
    await app.post('/api/mutation/tell_later', { name: 'c' }),
    { status: 200 },
    'a mutation needs only its database'
  )
  t.ok((await notes(app)).includes('c comes later'))
  await server.up()
  await until(
    () => shown(app, 'story-a'),
    ({ run }) => run?.waits_for === 'end'
  )
  t.match(await send(app, 'story-a/signals', { key: 'end', payload: { mood: 'well' } }), { status: 200 })
  t.match(await app.post('/api/told', { name: 'a' }), { status: 200, body: 'told a' })
  const told = async (name: string) => (await notes(app)).filter(note => note.startsWith(`${name} `))
  t.same([...new Set(await told('a'))], ['a begins', 'a goes on', 'a ends well'], 'at least once, and in order')
  await until(
    () => shown(app, 'story-c'),
    ({ run }) => run?.waits_for === 'end'
  )
  t.same(
    [...new Set(await told('c'))],
    ['c comes later', 'c begins', 'c goes on'],
    'its run starts once the server is back'
  )
  t.match(await send(app, 'story-b/cancel'), { status: 404 })

  await server.crash()
  t.match(await app.post('/api/mutation/tell_later', { name: 'd' }), { status: 200 })
  t.equal(await app.stop('SIGKILL'), 'SIGKILL')
  await server.up()
  const next = await serveHost(t, server.url(), app.folder)
  await until(
    () => shown(next, 'story-d'),
    ({ run }) => run?.waits_for === 'end'
  )
  const written = (await notes(next)).filter(note => note.startsWith('d '))
  t.same(written, ['d comes later', 'd begins', 'd goes on'], 'the host was killed before it forwarded the start')
})

t.test('without a server, a program whose runs are to be shared is not served', async t => {
  const folder = makeProject(t, { 'app.vox': SOURCE })
  const settings = { 'app-runtime.durable_store': 'coordination' }
  await t.rejects(serveApp(t, '', settings, folder, ['coordination-postgres']), {
    message: /durable_store = \\?"coordination\\?" cannot be used: coordination\.url is not set/
  })
})
