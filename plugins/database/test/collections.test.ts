import {
  type CollectionFilter,
  type DatabaseCollections,
  databaseCollections,
  databaseStore,
  type PrimaryDatabase
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import './built-worker.ts'
import database from '#plugin'
import { databaseBackup, databaseRestore } from '#root'

type Opened = { collections: DatabaseCollections; store: PrimaryDatabase; kernel: TestKernel }

async function open(t: Test): Promise<Opened> {
  let found: Omit<Opened, 'kernel'> | undefined
  const spy = definePlugin({
    name: 'spy',
    requires: { collections: databaseCollections, store: databaseStore },
    activate: (_ctx, deps) => {
      found = deps
    }
  })
  const kernel = await testKernel([database, spy] as Plugin[])
  t.teardown(() => kernel.close())
  if (found === undefined) throw new Error('the services were not provided')
  return { ...found, kernel }
}

t.test('documents are inserted, found by equality, patched, deleted and counted', async t => {
  const { collections } = await open(t)
  const notes = collections.collection<{ a?: unknown; b?: unknown }>('notes')
  t.same(await notes.find(), [], 'no table yet')
  t.equal(await notes.get(1), null)
  t.equal(await notes.patch(1, { a: 1 }), false)
  t.equal(await notes.delete(1), false)
  t.equal(await notes.count(), 0)
  const id = await notes.insert({ a: 'x', b: { c: [1, null] } })
  const other = await notes.insert({ a: true })
  t.same(await notes.get(id), { a: 'x', b: { c: [1, null] } })
  t.same(await notes.find({ a: 'x' }), [{ id, data: { a: 'x', b: { c: [1, null] } } }])
  t.same(await notes.find({ a: 1 }), [], 'true is not 1')
  t.equal(await notes.count({ b: null }), 1, 'a missing field equals null')
  t.equal(await notes.patch(id, { b: 2 }), true)
  t.same(await notes.get(id), { a: 'x', b: 2 }, 'a patch replaces whole fields')
  t.equal((await notes.find({}, { limit: 1 })).length, 1)
  t.equal(await notes.delete(other), true)
  t.equal(await notes.count(), 1)
})

t.test('concurrent upserts of one document lose no change', async t => {
  const { collections } = await open(t)
  const counters = collections.collection<{ name: string; calls: number }>('counters', { index: 'name' })
  const add = () => counters.upsert({ name: 'a' }, row => ({ name: 'a', calls: (row?.calls ?? 0) + 1 }))
  await Promise.all(Array.from({ length: 20 }, add))
  t.same(
    (await counters.find()).map(({ data }) => data),
    [{ name: 'a', calls: 20 }]
  )
})

t.test('an indexed field is found through its index', async t => {
  const { collections, store } = await open(t)
  const days = collections.collection('days', { index: 'date' })
  await days.insert({ date: '2026-01-01' })
  const plan = await store.query(
    `EXPLAIN QUERY PLAN SELECT _id FROM days WHERE coalesce(_data -> '$."date"', 'null') = ?`,
    ['"2026-01-01"']
  )
  t.match(JSON.stringify(plan.rows), /USING (COVERING )?INDEX days_date/)
  t.equal(await days.count({ date: '2026-01-01' }), 1)
})

t.test('names, fields and documents that no collection can hold are refused', async t => {
  const { collections, store } = await open(t)
  for (const name of ['', 'A', '1a', 'a"; DROP TABLE x; --', 'a'.repeat(65)]) {
    t.throws(() => collections.collection(name), { code: 'DBS_STATEMENT_REFUSED' }, name)
  }
  const things = collections.collection('things')
  await things.insert({})
  for (const bad of [null, 1, 'a', [], undefined, () => 1]) {
    await t.rejects(things.insert(bad as never), { code: 'DBS_VALUE_INVALID' })
  }
  await t.rejects(things.find({ 'a" OR 1 --': 1 }), { code: 'DBS_VALUE_INVALID' })
  await store.execute('CREATE TABLE taken (id INTEGER)')
  await t.rejects(collections.collection('taken').insert({}), {
    code: 'DBS_STATEMENT_REFUSED',
    message: 'the table "taken" is no collection: it has the columns id'
  })
  await store.execute(`INSERT INTO things (_data) VALUES ('[1]')`)
  await t.rejects(things.find(), {
    code: 'DBS_CORRUPT',
    message: 'row 2 of the collection "things" holds no JSON object'
  })
})

t.test('find returns exactly the documents that are equal in the named fields', async t => {
  const { collections } = await open(t)
  const value = fc.oneof(fc.constantFrom(0, 1, 1.5, '1', 'true', '', 'é"\\\n'), fc.boolean(), fc.constant(null))
  const document = fc.dictionary(fc.constantFrom('a', 'b', 'c.d'), value)
  const all = collections.collection('random')
  const documents = fc.sample(document, { numRuns: 40, seed: 7 })
  for (const each of documents) await all.insert(each)
  for (const filter of fc.sample(document, { numRuns: 30, seed: 8 }) as CollectionFilter[]) {
    const wanted = documents.filter(each =>
      Object.entries(filter).every(([name, value]) => (each[name] ?? null) === value)
    )
    t.same(
      (await all.find(filter)).map(({ data }) => data),
      wanted
    )
  }
})

t.test('a collection that a restored backup lacks is created again', async t => {
  const { collections, kernel } = await open(t)
  await collections.collection('first').insert({ a: 1 })
  const { file } = await kernel.call(databaseBackup, {})
  const later = collections.collection('later', { index: 'a' })
  await later.insert({ a: 1 })
  await kernel.call(databaseRestore, { file })
  t.equal(await later.count(), 0)
  await later.insert({ a: 2 })
  t.match(await later.find({ a: 2 }), [{ data: { a: 2 } }])
})
