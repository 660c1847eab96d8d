import { type CoordinationBed, coordinationSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { noPostgres, PostgresServer } from './postgres-server.ts'
import { openBed, openStore } from './stores.ts'

t.test('a store in PostgreSQL satisfies the contract', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const empty = openStore(server.url('postgres'))
  await empty.now()
  await empty.close()
  /** Epochs of restores of one backup must differ; see the README. */
  let epoch = 1_000
  const open = async (): Promise<CoordinationBed> => {
    const url = await server.createDatabase('postgres')
    const bed = openBed(url)
    let backup = ''
    return {
      ...bed,
      goBack: {
        async remember() {
          backup = server.backup()
        },
        async restore() {
          await bed.close()
          await server.restore(backup)
          epoch += 1
          await server.query(`select svc_coord.new_epoch_v1(${epoch})`, new URL(url).pathname.slice(1))
          return bed.another()
        }
      }
    }
  }
  for (const { name, run } of coordinationSuite({ open })) await t.test(name, run)
})
