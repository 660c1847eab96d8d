import { databaseStoreSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { openRemote, openReplica } from '#remote'
import './built-worker.ts'
import { freshFile } from './files.ts'
import { startHranaServer } from './hrana-server.ts'

const TOKEN = 'let-me-in'

t.test('a remote database satisfies the contract of a store', async t => {
  const open = async () => {
    const server = await startHranaServer(freshFile(), TOKEN)
    t.teardown(() => server.close())
    return openRemote({ url: server.url, token: TOKEN, timeoutMs: 5_000 })
  }
  for (const { name, run } of databaseStoreSuite({ open, freshFile })) await t.test(name, run)
})

t.test('a remote database with a faulty server', async t => {
  const server = await startHranaServer(freshFile(), TOKEN)
  t.teardown(() => server.close())
  const store = await openRemote({ url: server.url, token: TOKEN, timeoutMs: 1_000 })
  t.teardown(() => store.close())
  await store.migrate('CREATE TABLE items (name)')
  const faulty = async (fault: typeof server.fault, run: () => Promise<unknown>) => {
    server.fault = fault
    try {
      return await run()
    } finally {
      server.fault = 'none'
    }
  }

  await t.test('a wrong token is reported without printing it', async t => {
    const error = await openRemote({ url: server.url, token: 'wrong-token', timeoutMs: 10_000 }).catch(error => error)
    t.equal(error.code, 'DBS_UNAUTHORIZED')
    t.notMatch(JSON.stringify([error.message, error.data, error.hint]), 'wrong-token')
    await faulty('forbidden', () => t.rejects(store.execute('DELETE FROM items'), { code: 'DBS_UNAUTHORIZED' }))
  })

  await t.test(
    'a server that drops requests, fails or hangs is unreachable, and used again after it recovers',
    async t => {
      for (const fault of ['drop', 'broken', 'hang'] as const)
        await faulty(fault, () => t.rejects(store.query('SELECT 1'), { code: 'DBS_UNREACHABLE' }))
      t.same((await store.query('SELECT 1')).rows, [[1]])
    }
  )

  await t.test('the outcome of a write without a response is reported as unknown', async t => {
    await faulty('drop-after', () =>
      t.rejects(store.execute("INSERT INTO items VALUES ('a')"), {
        code: 'DBS_UNREACHABLE',
        message: /unknown whether the change was made/
      })
    )
    t.same((await store.query('SELECT name FROM items')).rows, [['a']], 'the write took effect')
  })

  await t.test('a transaction is rolled back if the server fails, and the next one runs', async t => {
    await t.rejects(
      store.transaction(async tx => {
        await tx.execute("INSERT INTO items VALUES ('b')")
        await faulty('drop', () => tx.execute("INSERT INTO items VALUES ('c')"))
      }),
      { code: 'DBS_UNREACHABLE' }
    )
    await store.execute("INSERT INTO items VALUES ('d')")
    t.same((await store.query('SELECT name FROM items')).rows, [['a'], ['d']])
  })

  await t.test('an address without a server is unreachable', async t => {
    const gone = await startHranaServer(freshFile(), TOKEN)
    await gone.close()
    await t.rejects(openRemote({ url: gone.url, token: TOKEN, timeoutMs: 200 }), { code: 'DBS_UNREACHABLE' })
  })
})

t.test('opening a replica fails within the time limit if its server is unreachable', async t => {
  const server = await startHranaServer(freshFile(), TOKEN)
  t.teardown(() => server.close())
  const open = () =>
    openReplica({ file: freshFile(), url: server.url, token: TOKEN, busyTimeoutMs: 100, timeoutMs: 300 })
  for (const fault of ['hang', 'drop', 'broken'] as const) {
    server.fault = fault
    await t.rejects(open(), { code: 'DBS_UNREACHABLE' }, fault)
  }
  server.fault = 'unauthorized'
  await t.rejects(open(), { code: 'DBS_UNAUTHORIZED' })
  server.fault = 'none'
  await t.rejects(
    open(),
    { code: 'DBS_UNREACHABLE', message: /Handshake/ },
    'this server responds, but does not support replicas'
  )
})
