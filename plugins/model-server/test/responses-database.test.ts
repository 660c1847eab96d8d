import { join } from 'node:path'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import '../../database/test/built-worker.ts'
import { DatabaseResponses } from '#responses'
import { MemoryResponses, type ResponseStore } from '#root'
import { connect, refusal } from './clients.ts'
import { openServer } from './open-server.ts'
import { toyPlugin } from './toy-plugin.ts'

const DAY_MS = 86_400_000

async function openDatabase(t: Test): Promise<PrimaryDatabase> {
  let found: PrimaryDatabase | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { store: databaseStore },
    activate: (_ctx, { store }) => {
      found = store
    }
  })
  const kernel = await testKernel([database as Plugin, probe as Plugin], { settings: {} })
  t.teardown(() => kernel.close())
  return found as PrimaryDatabase
}

const stored = (id: string, previousId: string | null = null) => ({
  id,
  previousId,
  response: { id, output: [{ type: 'message', id: `${id}-out` }] },
  input: [{ type: 'message', id: `${id}-in` }]
})

async function checkStore(t: Test, store: ResponseStore): Promise<void> {
  await store.prepare()
  await store.save('ann', stored('a'))
  await store.save('ann', stored('b', 'a'))
  await store.save('ann', stored('c', 'b'))
  await store.save('bob', stored('d', 'c'))
  t.same(await store.find('ann', ['a', 'x']), [stored('a')])
  t.same(await store.find('bob', ['a']), [])
  t.same(await store.chain('ann', 'c'), [stored('a'), stored('b', 'a'), stored('c', 'b')])
  t.same(await store.chain('bob', 'd'), [stored('d', 'c')], 'the chain ends at a response of another owner')
  t.same(await store.chain('bob', 'c'), [])
  t.equal(await store.delete('bob', 'a'), false)
  t.equal(await store.delete('ann', 'b'), true)
  t.same(await store.chain('ann', 'c'), [stored('c', 'b')])
}

t.test('the store in memory keeps responses by owner', t => checkStore(t, new MemoryResponses()))

t.test('the store in the database keeps responses by owner, for some days', async t => {
  let now = Date.now()
  const store = new DatabaseResponses(
    await openDatabase(t),
    () => 2,
    () => now
  )
  await checkStore(t, store)
  now += 3 * DAY_MS
  await store.save('ann', stored('new'))
  t.same(await store.find('ann', ['a', 'c', 'new']), [stored('new')])
})

t.test('the store in the database keeps 10,000 responses, even if many are saved within an hour', async t => {
  const now = Date.now()
  const database = await openDatabase(t)
  const store = new DatabaseResponses(
    database,
    () => 2,
    () => now
  )
  await store.save('ann', stored('first'))
  await database.execute(
    `INSERT INTO model_responses (id, owner, response_json, input_json, created_at_ms)
     WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 10050)
     SELECT 'r' || at, 'ann', '{}', '[]', :from + at FROM n`,
    { from: now - 20_000 }
  )
  for (let at = 0; at < 100; at++) await store.save('ann', stored(`new${at}`))
  const { rows } = await database.query('SELECT count(*) FROM model_responses')
  t.same(rows, [[10_000]])
  t.same(await store.find('ann', ['r1']), [])
})

t.test('the store in memory forgets the oldest responses', async t => {
  const store = new MemoryResponses()
  for (let at = 0; at <= 1000; at++) await store.save('ann', stored(`r${at}`))
  t.same(await store.find('ann', ['r0', 'r1', 'r1000']), [stored('r1'), stored('r1000')])
})

t.test('responses survive a restart of the server', async t => {
  const folder = t.testdir({ run: { 'config.json': '{}' } })
  const settings = { model: join(folder, 'run') }
  const others = { database: { path: join(folder, 'svc.db') } }
  const start = async () => {
    const server = await openServer(t, [toyPlugin(), database as Plugin], settings, others)
    await server.ready()
    return server
  }
  const first = await start()
  const { body: created } = await first.json('/v1/responses', { input: 'one', store: true })
  t.equal(created.store, true)
  await first.kernel.close()
  const second = await start()
  t.match((await second.json(`/v1/responses/${created.id}`)).body, { id: created.id, output: created.output })
  const next = await second.json('/v1/responses', { input: 'two', previous_response_id: created.id })
  t.match(next, { status: 200, body: { output: [{ content: [{ text: 'two' }] }] } })
})

t.test('without a usable store, a response is not stored, and says so', async t => {
  const broken = Object.assign(new MemoryResponses(), { prepare: () => Promise.reject(new Error('disk full')) })
  const { openai, warnings } = await connect(t, { responses: () => broken })
  const response = await openai.responses.create({ model: 'toy', input: 'one' })
  t.match(response, { output_text: 'one', store: false })
  t.match(warnings, [/responses are not stored/])
  const required = await refusal(openai.responses.create({ model: 'toy', input: 'one', store: true }))
  t.match(required, { status: 503, message: /cannot be stored: disk full/ })
  const full = Object.assign(new MemoryResponses(), { save: () => Promise.reject(new Error('disk full')) })
  const other = await connect(t, { responses: () => full })
  const late = await other.openai.responses.create({ model: 'toy', input: 'one' })
  t.match(late, { output_text: 'one', store: false })
  t.match(other.warnings, [/a response was not stored/])
})
