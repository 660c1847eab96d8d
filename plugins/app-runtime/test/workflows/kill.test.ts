import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FileConnection } from '@svc/plugin-database/testing'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { databaseDurable } from '#workflows'

const KILLS = 20
const NAMES = ['a', 'b', 'c', 'd', 'e']

const PROGRAM = `
${NAMES.map(
  name => `
activity ${name}() to Result[str] with { activity_id: "${name}", retries: 2 } {
    sleep("3ms")
    print("${name}")
    sleep("3ms")
    Ok("${name}")
}`
).join('\n')}

workflow all() to Result[str] {
    let first = a()? + b()?
    workflow_wait("10ms")
    Ok(first + c()? + d()? + e()?)
}
`

interface World {
  readonly child: string
  readonly database: string
  readonly source: string
  readonly lines: string
  readonly connection: FileConnection
}

async function openWorld(t: Test): Promise<World> {
  const folder = t.testdir({ 'program.vox': PROGRAM })
  const child = join(folder, 'child.cjs')
  await build({
    entryPoints: [join(import.meta.dirname, 'kill-child.ts')],
    outfile: child,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['libsql'],
    conditions: ['svc-source'],
    define: { 'import.meta.url': '__url' },
    banner: { js: "const __url = require('node:url').pathToFileURL(__filename).href;" },
    logLevel: 'error'
  })
  const database = join(folder, 'runs.db')
  const connection = new FileConnection({ file: database, busyTimeoutMs: 10_000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  return { child, database, source: join(folder, 'program.vox'), lines: join(folder, 'lines'), connection }
}

function start({ child, database, source, lines }: World, run: string): ChildProcess {
  return spawn(process.execPath, [child, database, source, lines, run], { stdio: ['ignore', 'pipe', 'inherit'] })
}

function linesOf({ lines }: World): string[] {
  return existsSync(lines) ? readFileSync(lines, 'utf8').split('\n').slice(0, -1) : []
}

function eventsOf({ connection }: World, run: string): { readonly event: string; readonly activity_id: string }[] {
  const rows = connection.rows('SELECT entry_json FROM workflow_journal WHERE run_id = ? ORDER BY id', [run])
  return rows.map(([text]) => JSON.parse(String(text)))
}

t.test('a killed process loses only the running attempt', async t => {
  const world = await openWorld(t)
  const { workflows } = databaseDurable(world.connection, { program: 'p', metricSession: null }, () => undefined, null)
  let [kills, recovered, runs] = [0, 0, 0]
  while (kills < KILLS) {
    const run = `run-${runs++}`
    workflows.create(
      { runId: run, workflow: 'all', args: '[]', parent: null, plannedSteps: 6, isCalled: false },
      Date.now()
    )
    const before = linesOf(world).length
    let completed = new Set<string>()
    let seen = before
    for (let hasEnded = false; !hasEnded; ) {
      const child = start(world, run)
      const exit = once(child, 'exit')
      await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, 'data'), exit])
      // Every eighth process is not killed, so that the run ends.
      if (Math.random() < 7 / 8) {
        await sleep(Math.random() * 40)
        child.kill('SIGKILL')
      }
      const [code, signal] = await exit
      if (signal === 'SIGKILL') kills++
      hasEnded = code === 0
      t.ok(hasEnded || signal === 'SIGKILL', `ended with ${code ?? signal}`)
      const lines = linesOf(world)
      const again = lines.slice(seen).filter(name => completed.has(name))
      t.same(again, [], 'completed activities do not run again')
      seen = lines.length
      completed = new Set(workflows.history(run).completed.keys())
    }
    t.match(workflows.find(run), { status: 'completed', result: '{"$tag":["Ok",["abcde"]]}' })
    const done = linesOf(world).slice(before)
    const events = eventsOf(world, run)
    for (const name of NAMES) {
      const of = events.filter(each => each.activity_id === name).map(({ event }) => event)
      const count = (event: string): number => of.filter(each => each === event).length
      recovered += count('ActivityAttemptRecovered')
      t.equal(count('ActivityTask'), 1)
      t.equal(count('LocalActivity'), 1, `${name} was completed once`)
      const times = done.filter(each => each === name).length
      t.ok(times >= 1 && times <= 1 + count('ActivityAttemptRecovered'), `${name} ran ${times} times`)
      t.equal(count('ActivityReplayed') + 1, count('ActivityCompleted'))
    }
    t.equal(events.filter(({ event }) => event === 'WorkflowStarted').length, 1)
    t.equal(events.filter(({ event }) => event === 'WorkflowCompleted').length, 1)
  }
  t.ok(recovered > 0, `${recovered} attempts were recovered in ${kills} kills of ${runs} runs`)
})

t.test('two processes take turns at a run, and never run it concurrently', async t => {
  const world = await openWorld(t)
  const { workflows } = databaseDurable(world.connection, { program: 'p', metricSession: null }, () => undefined, null)
  for (const run of ['r1', 'r2', 'r3']) {
    workflows.create(
      { runId: run, workflow: 'all', args: '[]', parent: null, plannedSteps: 6, isCalled: false },
      Date.now()
    )
    const before = linesOf(world).length
    const both = [start(world, run), start(world, run)]
    for (const child of both) child.stdout?.resume()
    t.same(await Promise.all(both.map(async child => (await once(child, 'exit'))[0])), [0, 0])
    t.same(linesOf(world).slice(before), NAMES)
  }
})
