// Stores durable messages in the database FILE until it is killed, and prints number and UUID of each stored message.
import { writeSync } from 'node:fs'
import { DurableInbox } from '#root'
import { note, openStore } from './open-inbox.ts'

const store = await openStore(process.argv[2] ?? '')
const inbox = new DurableInbox(store, 'repository', { consumer: 'child', leaseMs: 1_000, retentionDays: 1 })
for (let at = 0; ; at += 1) {
  const { uuid } = await inbox.send(note({ payload: String(at), correlation_id: `c${at}` }))
  writeSync(1, `${at} ${uuid}\n`)
}
