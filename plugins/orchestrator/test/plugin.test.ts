import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Orchestrator, orchestrator as orchestratorToken, type TaskEnd, taskEnded } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import { LibsqlEngine } from '@svc/plugin-database/testing'
import plugin from '#plugin'

const DONE = { checks_passed: ['tests'] }
const task = { description: 'Do it', files: [] }
const settings = (more: object = {}) => ({ orchestrator: { stubcheck_gate: false, ...more } })

function probe(ends: TaskEnd[]) {
  let held: { readonly current: Orchestrator } | undefined
  const plugin = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    activate(ctx, deps) {
      held = deps.tasks
      ctx.on(taskEnded, end => void ends.push(end))
    }
  })
  return { plugin, orchestrator: () => held?.current as Orchestrator }
}

async function until<A>(look: () => A | null | undefined | false): Promise<A> {
  const deadline = Date.now() + 120_000
  for (;;) {
    const found = look()
    if (found) return found
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

t.test('works in memory without a database, reports that, and reports the ends of tasks', async t => {
  const ends: TaskEnd[] = []
  const { plugin: looking, orchestrator } = probe(ends)
  const kernel = await testKernel([plugin, looking] as Plugin[], { settings: settings() })
  t.teardown(() => kernel.close())
  t.match(orchestrator().durability, { kind: 'memory', because: 'no database is attached' })
  await orchestrator().submit(task)
  await orchestrator().complete(1, DONE)
  await until(() => ends.length > 0)
  t.match(ends, [{ task_id: 1, outcome: 'completed' }])
  t.match(orchestrator().policy, { planning: { adequacy_shadow: true, depth: 'standard' }, llm_cost_events: true })
})

const BROKEN: Readonly<Record<string, readonly [(file: string) => void, (file: string) => void]>> = {
  'a later schema version': [
    file =>
      change(
        file,
        'CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)',
        'INSERT INTO schema_version VALUES (99, 0)'
      ),
    file => change(file, 'DROP TABLE schema_version')
  ],
  'an incompatible column': [
    file =>
      change(
        file,
        'CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)',
        'INSERT INTO schema_version VALUES (1, 0)',
        'CREATE TABLE agent_sessions (id BLOB)'
      ),
    file => change(file, 'DROP TABLE schema_version', 'DROP TABLE agent_sessions')
  ],
  'random bytes': [file => writeFileSync(file, randomBytes(8_192)), file => rmSync(file)]
}

for (const [name, [damage, repair]] of Object.entries(BROKEN)) {
  t.test(`rejects tasks while the database has ${name}, and accepts them once it is repaired`, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'broken-'))
    const file = join(folder, 'store.db')
    damage(file)
    const { plugin: looking, orchestrator } = probe([])
    const kernel = await testKernel([database, plugin, looking] as Plugin[], {
      settings: { ...settings(), database: { path: file } }
    })
    t.teardown(async () => {
      await kernel.close()
      rmSync(folder, { recursive: true })
    })
    t.match(orchestrator().durability, { kind: 'database', location: file })
    const refused = { code: 'ORC_NOT_DURABLE', message: new RegExp(`could not be made durable in ${file}: DB`) }
    await t.rejects(orchestrator().submit(task), refused)
    await kernel.replace(plugin as Plugin)
    await t.rejects(orchestrator().submit(task), refused)
    t.same(orchestrator().tasks(), [])
    t.match(orchestrator().status().outbox, { failing: /^DB/ })
    repair(file)
    await until(() => orchestrator().status().outbox.failing === null)
    t.equal((await orchestrator().submit(task)).task_id, 1)
    await kernel.replace(plugin as Plugin)
    t.equal(orchestrator().tasks().length, 1)
  })
}

/** Changes a database file that no process has open. */
function change(file: string, ...statements: readonly string[]): void {
  const engine = new LibsqlEngine({
    engine: 'libsql',
    file,
    readOnly: false,
    busyTimeoutMs: 2_000,
    synchronous: 'normal'
  })
  for (const statement of statements) engine.exec(statement)
  engine.close()
}

t.test('a reload preserves the whole state, with and without a database', async t => {
  for (const others of [[], [database]]) {
    const { plugin: looking, orchestrator } = probe([])
    const kernel = await testKernel([...others, plugin, looking] as Plugin[], { settings: settings() })
    t.teardown(() => kernel.close())
    const before = orchestrator()
    await before.submit(task)
    await before.submit({ ...task, agent_name: 'other' })
    await before.next(1)
    const signal = before.taskSignal(1)
    await kernel.replace(plugin as Plugin)
    t.not(orchestrator(), before)
    t.match(orchestrator().task(1), { status: { kind: 'InProgress' }, recoveries: 0 })
    t.match(orchestrator().agents(), [{ name: 'default', current_task: 1 }, { name: 'other' }])
    t.notOk(signal.aborted)
    // The event of a started task is published once the start is durable; no caller waits for that.
    await until(() => orchestrator().recentEvents().length >= 5)
    t.match(
      orchestrator()
        .recentEvents()
        .map(({ id }) => id),
      [1, 2, 3, 4, 5]
    )
    t.equal((await orchestrator().submit(task)).task_id, 3)
    t.equal((await before.submit(task)).task_id, 4, 'the service object of the previous unit calls the current one')
    await orchestrator().complete(1, DONE)
    t.ok(signal.aborted)
  }
})

t.test('rejects contradictory settings, and names both', async t => {
  for (const [wrong, other] of [
    [{ min_agents: 9 }, 'max_agents'],
    [{ planning_replan_enabled: true }, 'planning_enabled'],
    [{ trust_provisional_threshold: 30 }, 'trust_trusted_threshold']
  ] as const) {
    const opening = testKernel([plugin] as Plugin[], { settings: settings(wrong) })
    await t.rejects(opening, { message: new RegExp(`${Object.keys(wrong)[0]} and ${other} contradict`) })
  }
})
