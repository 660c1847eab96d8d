import { coordinationSql as sql } from '@svc/contracts'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { freshFile } from './files.ts'

const OPTIONS = { busyTimeoutMs: 10_000, synchronous: 'normal' } as const

/** A store on a file, and a thread's connection to the same file. */
async function bed() {
  const file = freshFile()
  const database = await openFile(file, OPTIONS)
  const store = new DatabaseCoordination(database)
  const connection = new FileConnection({ file, ...OPTIONS })
  const close = async (): Promise<void> => {
    connection.close()
    await store.close()
    await database.close()
  }
  return { store, connection, close }
}

t.test('a thread and the store share items, leases and keys', async t => {
  const { store, connection, close } = await bed()
  sql.createTablesInThread(connection)
  sql.createTablesInThread(connection)
  t.same(sql.runInThread(connection, sql.putItems([{ queue: 'q', body: '1', key: 'k' }])), [{ id: 1, fresh: true }])
  t.same(await store.put([{ queue: 'q', body: '2', key: 'k' }]), [{ id: 1, fresh: false }])
  const [item] = await store.claim('q', 'main', { max: 1, leaseMs: 600_000 })
  const token = { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  t.same(sql.runInThread(connection, sql.claimItems('q', 'thread', { max: 1, leaseMs: 600_000 })), [])
  t.same(sql.runInThread(connection, sql.extendItems([{ ...token, leaseMs: 600_000 }])), [true])
  t.same(sql.runInThread(connection, sql.ackItems([{ ...token, result: '"r"' }])).applied, [true])
  t.same(await store.ack([token]), [false])
  t.same(await store.put([{ queue: 'q', body: '2', key: 'k' }]), [{ id: 1, fresh: false, result: '"r"' }])
  await close()
})

t.test('a write that is guarded by a token is refused when another holder has the item', async t => {
  const { store, connection, close } = await bed()
  await store.put([{ queue: 'q', body: '1' }])
  connection.execute('create table results (value text)')
  const claim = async (leaseMs: number) => {
    const [item] = await store.claim('q', 'h', { max: 1, leaseMs })
    return { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  }
  const write = (token: { id: number; fence: number }, value: string): boolean => {
    connection.begin('write')
    if (!sql.holdsItem(connection, token)) {
      connection.rollback()
      return false
    }
    connection.execute('insert into results values (?)', [value])
    connection.commit()
    return true
  }
  const first = await claim(1)
  t.equal(write(first, 'first'), true)
  t.equal(write({ ...first, fence: first.fence + 1 }, 'wrong'), false)
  while ((await store.ready(['q'])).length === 0);
  t.equal(write(first, 'late'), true, 'only the fence decides')
  const second = await claim(600_000)
  t.equal(write(first, 'stale'), false)
  t.equal(write(second, 'second'), true)
  await store.withdraw('q', second.id)
  t.equal(write(second, 'gone'), false)
  t.same(connection.rows('select value from results'), [['first'], ['late'], ['second']])
  await close()
})

t.test('an operation in an open transaction is committed and rolled back with it', async t => {
  const { store, connection, close } = await bed()
  await store.put([{ queue: 'q', body: '1', key: 'k' }])
  const [item] = await store.claim('q', 'h', { max: 1, leaseMs: 600_000 })
  const token = { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  connection.begin('write')
  t.same(sql.runInThread(connection, sql.ackItems([token])).applied, [true])
  t.equal(sql.holdsItem(connection, token), false)
  t.equal(await store.count('q'), 1, 'it is not committed')
  connection.rollback()
  t.equal(sql.holdsItem(connection, token), true)
  connection.begin('write')
  sql.runInThread(connection, sql.wakeItems('q', ['k']))
  t.same(sql.runInThread(connection, sql.parkItems([token])).applied, [true])
  connection.commit()
  t.match(await store.look('q', { limit: 1 }), [{ state: 'ready' }])
  await close()
})

t.test('a failed operation leaves no transaction open', async t => {
  const { connection, close } = await bed()
  t.throws(() => sql.runInThread(connection, sql.putItems([{ queue: 'q', body: '1' }])), { code: 'DBS_SYNTAX' })
  t.equal(connection.inTransaction, false)
  await close()
})
