import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { Engine, EventSpool, validateEvent } from '#pipeline'
import { progressSnapshot } from '#root'
import { RewardStore } from '#store'
import { openReward, send } from './world.ts'

const SETTINGS = {
  emergency_off: false,
  verbosity: 'normal',
  max_messages_per_hour: 12,
  mcp_tool_args: 'hash',
  teaching: 'fixed',
  pollinations_url: 'http://127.0.0.1:9',
  retention_days: 90,
  user_id: 'ada'
} as const

async function openStore(t: Parameters<typeof openReward>[0]): Promise<PrimaryDatabase> {
  let database: PrimaryDatabase | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, deps) => {
      database = deps.database
    }
  }) as Plugin
  await openReward(t, {}, [probe])
  if (database === undefined) throw new Error('no database')
  return database
}

/** Returns an engine as a separate process has it, with its log. */
function openEngine(database: PrimaryDatabase, directory: string) {
  const warnings: string[] = []
  const engine = new Engine({
    store: new RewardStore(database),
    settings: () => SETTINGS,
    counts: new Map(),
    log: { info() {}, debug() {}, warn: message => void warnings.push(message) },
    changed() {},
    switched() {},
    spool: new EventSpool(async () => directory),
    mask: text => text.replaceAll('hunter2', '***')
  })
  return { engine, warnings }
}

t.test('a process that ends early leaves its events, and the next one commits them once', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  const short = openEngine(database, directory)
  short.engine.accept({ type: 'mcp_tool_called', arguments: { key: 'SECRET' }, note: 'hunter2' })
  short.engine.accept({ type: 'bug_fix', ludus_dedupe_id: 'a' })
  short.engine.accept({ type: '' })
  await short.engine.close()
  t.match(short.engine.figures, { processed: 0, queued: 0, invalid: 1, lost: 0 })
  const folder = join(directory, 'events')
  const [name = ''] = readdirSync(folder)
  const file = join(folder, name)
  t.notMatch(readFileSync(file, 'utf8'), /SECRET|hunter2/)
  copyFileSync(file, join(directory, 'copy'))
  const later = openEngine(database, directory)
  await later.engine.flush()
  t.match(later.engine.figures, { processed: 2, duplicates: 0 })
  t.same(readdirSync(folder), [])
  // As if the process had been killed between the commit and the removal.
  copyFileSync(join(directory, 'copy'), file)
  const third = openEngine(database, directory)
  third.engine.accept({ type: 'bug_fix', ludus_dedupe_id: 'a' })
  await third.engine.flush()
  t.match(third.engine.figures, { processed: 0, duplicates: 3 })
  t.same(readdirSync(folder), [])
})

t.test('unfinished, damaged and foreign files lose no other event', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  const folder = join(directory, 'events')
  mkdirSync(folder)
  writeFileSync(join(folder, 'unfinished.jsonl.part'), '{"at":1,"event":{"type":"bug_fix"}}\n')
  writeFileSync(
    join(folder, '1.jsonl'),
    'not JSON\n{"at":"x","event":{"type":"bug_fix"}}\n{"at":1,"event":{}}\n{"at":1e300,"event":{"type":"a"}}\n'
  )
  await new EventSpool(async () => directory).write([validateEvent({ type: 'bug_fix' }, Date.now())])
  const { engine } = openEngine(database, directory)
  await engine.flush()
  t.match(engine.figures, { processed: 1, invalid: 4 })
  t.same(readdirSync(folder), ['unfinished.jsonl.part'])
})

t.test('if the database fails, the events are kept in a file, and committed later', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  let fails = true
  const failing = new Proxy(database, {
    get: (target, key) =>
      key === 'transaction' && fails
        ? async () => {
            throw new Error('the disk is full')
          }
        : (target[key as keyof PrimaryDatabase] as (...args: unknown[]) => unknown).bind(target)
  })
  const first = openEngine(failing, directory)
  first.engine.accept({ type: 'bug_fix' })
  await first.engine.flush()
  t.match(first.engine.figures, { processed: 0, lost: 0 })
  t.equal(first.warnings.length, 1)
  t.equal(readdirSync(join(directory, 'events')).length, 1)
  const second = openEngine(failing, directory)
  await second.engine.flush()
  t.match(second.engine.figures, { processed: 0, lost: 0 })
  t.equal(readdirSync(join(directory, 'events')).length, 1, 'a further failure keeps them, too')
  fails = false
  const third = openEngine(failing, directory)
  await third.engine.flush()
  t.match(third.engine.figures, { processed: 1 })
  t.same(readdirSync(join(directory, 'events')), [])
})

t.test('a process that ends early does not touch the database', async t => {
  const directory = t.testdir()
  const untouched = new Proxy({} as PrimaryDatabase, {
    get: (_, key) => t.fail(`the database was used: ${String(key)}`)
  })
  const { engine } = openEngine(untouched, directory)
  engine.accept({ type: 'bug_fix' })
  await engine.close()
  t.equal(readdirSync(join(directory, 'events')).length, 1)
})

t.test('the number of files is bounded: from 100 on, a process that ends commits them all', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  const spool = new EventSpool(async () => directory)
  const folder = join(directory, 'events')
  mkdirSync(folder)
  const leave = (count: number): void => {
    for (let at = 0; at < count; at++)
      writeFileSync(join(folder, `${at}-${randomUUID()}.jsonl`), `{"at":${Date.now()},"event":{"type":"bug_fix"}}\n`)
  }
  leave(100)
  const { engine } = openEngine(database, directory)
  engine.accept({ type: 'bug_fix' })
  await engine.close()
  t.match(engine.figures, { processed: 101 })
  t.same(await spool.list(), [])
  leave(200)
  t.equal(await spool.write([validateEvent({ type: 'bug_fix' }, 0)]), false)
})

t.test('secrets that svc knows are concealed in stored events', async t => {
  let database: PrimaryDatabase | undefined
  const holder = definePlugin({
    name: 'holder',
    config: schema.object({ key: schema.secret() }),
    requires: { database: databaseStore },
    activate: (_, deps) => {
      database = deps.database
    }
  }) as Plugin
  const kernel = await openReward(t, {}, [holder], 'test.db', { holder: { key: 'open-sesame-4711' } })
  await send(kernel, { type: 'mcp_tool_called', arguments: { text: 'say open-sesame-4711' } } as never)
  t.match(await kernel.call(progressSnapshot, {}), { events: { processed: 1 } })
  const stored = await database?.query('SELECT payload_json FROM agent_events')
  t.match(String(stored?.rows[0]?.[0]), /mcp_tool_called/)
  t.notMatch(String(stored?.rows[0]?.[0]), /open-sesame/)
})
