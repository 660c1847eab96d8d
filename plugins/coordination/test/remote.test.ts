import { coordinationSuite } from '@svc/contracts/conformance'
import { openRemote } from '@svc/plugin-database/testing'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { startHranaServer } from '../../database/test/hrana-server.ts'
import { remoteBeds } from './beds.ts'
import { freshFile } from './files.ts'

t.test('a store in a remote database satisfies the contract', async t => {
  const open = await remoteBeds(t)
  for (const { name, run } of coordinationSuite({ open })) await t.test(name, run)
})

t.test('a call without an answer can be repeated, whether it took effect or not', async t => {
  const server = await startHranaServer(freshFile(), 'secret-token')
  const database = await openRemote({ url: server.url, token: 'secret-token', timeoutMs: 2_000 })
  const store = new DatabaseCoordination(database)
  t.teardown(async () => {
    await store.close()
    await database.close()
    await server.close()
  })
  await store.now()
  const lost = async (fault: 'drop' | 'drop-after' | 'hang', run: () => Promise<unknown>): Promise<void> => {
    server.fault = fault
    const error = await run().then(
      () => null,
      (caught: unknown) => caught
    )
    server.fault = 'none'
    t.match(error, { code: 'CRD_UNAVAILABLE', hint: /same key/ }, fault)
    t.notMatch(String(error), /secret-token/)
  }
  for (const fault of ['drop', 'drop-after', 'hang'] as const) {
    const item = { queue: fault, body: '1', key: 'k' }
    await lost(fault, () => store.put([item]))
    await store.put([item])
    t.equal(await store.count(fault), 1, `${fault}: one item`)
    const [claimed] = await store.claim(fault, 'h', { max: 1, leaseMs: 600_000 })
    const token = { id: claimed?.id ?? 0, fence: claimed?.fence ?? 0 }
    await lost(fault, () => store.ack([{ ...token, result: '"r"' }]))
    // False if the lost call took effect: the item is acknowledged in both cases.
    t.same(await store.ack([{ ...token, result: '"r"' }]), [fault !== 'drop-after'])
    t.match(await store.put([item]), [{ fresh: false, result: '"r"' }])
    t.equal(await store.count(fault), 0)
  }
})
