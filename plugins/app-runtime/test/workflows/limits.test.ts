import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { ask, serveApp } from '../serving/served-app.ts'

const SOURCE = `
actor Poison {
    state n: int
    on loops() {
        loop { n += 1 }
    }
    on hangs() { sleep("1h") }
    on well() to int {
        n += 1
        n
    }
}
let poison = spawn(Poison)

activity endless() to Result[int] {
    loop { }
    Ok(1)
}
workflow never() to Result[int] { endless() }

activity step(n: int) to Result[int] {
    sleep("400ms")
    Ok(n)
}
workflow slow() to Result[int] {
    let mut total = 0
    for n in range(6) { total += step(n)? }
    Ok(total)
}

@server
fn begin() to Result[str] { never() with { id: "never", detach: true } }
@server
fn begin_slow() to Result[str] { slow() with { id: "slow", detach: true } }
@server
fn send() to Unit {
    poison.send("loops")
    poison.send("well")
    poison.send("hangs")
    poison.send("well")
}
@server
fn well() to int { poison.well() }
@server
fn hello() to str { "hello" }
`

const settings = { 'app-runtime.time_limit_ms': 400, 'app-runtime.steps': 1e12, 'app-runtime.threads': 2 }

async function runOf(
  url: string,
  id: string
): Promise<{ status: string; error: string | null; completed_steps: number }> {
  const { body } = await ask(`${url}/api/workflows/${id}`)
  return (body as { run: { status: string; error: string | null; completed_steps: number } }).run
}

t.test('endless runs and messages are abandoned, and do not block others', async t => {
  const app = await serveApp(t, SOURCE, settings)
  t.match(await app.post('/api/begin', {}), { body: 'never' })
  await app.post('/api/send', {})
  let run = await runOf(app.url, 'never')
  for (let left = 2_400; left > 0 && run.status !== 'failed'; left--) {
    t.match(await app.post('/api/hello', {}), { status: 200, body: 'hello' })
    await sleep(50)
    run = await runOf(app.url, 'never')
  }
  t.match(run, { status: 'failed', error: /RUN_TIME_LIMIT/ })
  const connection = new FileConnection({
    file: `${app.folder}/.vox/store.db`,
    busyTimeoutMs: 5000,
    synchronous: 'normal'
  })
  t.teardown(() => connection.close())
  const left = (): unknown => connection.row('SELECT count(*) FROM actor_mailbox WHERE given_up_at_ms IS NULL')?.[0]
  for (let waits = 2_400; waits > 0 && left() !== 0; waits--) await sleep(50)
  t.equal(left(), 0)
  const abandoned = connection.rows('SELECT event, attempts FROM actor_mailbox WHERE given_up_at_ms IS NOT NULL')
  t.same(abandoned, [
    ['loops', 5],
    ['hangs', 5]
  ])
  t.match(await app.post('/api/well', {}), { status: 200, body: 3 }, 'the messages after them were handled')
})

t.test('a run may exceed the time limit if its steps do not, even across a reload', async t => {
  const app = await serveApp(t, SOURCE, { ...settings, 'app-runtime.time_limit_ms': 1000 })
  await app.post('/api/begin_slow', {})
  let run = await runOf(app.url, 'slow')
  for (let left = 2_400; left > 0 && run.status !== 'completed'; left--) {
    if (run.completed_steps === 2 && left > 0) writeFileSync(`${app.folder}/app.vox`, `${SOURCE}\n// saved\n`)
    await sleep(50)
    run = await runOf(app.url, 'slow')
  }
  t.match(run, { status: 'completed', completed_steps: 6 })
})
