import { type CoordinationBed, coordinationSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openBed, openStore } from './stores.ts'

t.test('a store in PostgreSQL satisfies the contract', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const empty = openStore(server.url())
  await empty.now()
  await empty.close()
  const open = async () => openBed(await server.createDatabase('postgres'))
  for (const { name, run } of coordinationSuite({ open })) await t.test(name, run)
})

t.test('a store in PostgreSQL satisfies the contract when a backup is restored', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  /** Epochs of several restores of one backup must differ; see the README. */
  let epoch = 1_000
  const open = async (): Promise<CoordinationBed> => {
    const bed = openBed(server.url())
    let backup = ''
    return {
      ...bed,
      goBack: {
        async remember() {
          backup = server.backup()
          t.teardown(() => server.forget(backup))
        },
        async restore() {
          await bed.close()
          await server.restore(backup)
          epoch += 1
          await server.query(`select svc_coord.new_epoch_v1(${epoch})`)
          return bed.another()
        }
      }
    }
  }
  const cases = coordinationSuite({ open }).filter(({ name }) => name.includes('earlier copy'))
  t.equal(cases.length, 1)
  for (const { name, run } of cases) await t.test(name, run)
})
