import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import type { Test } from 'tap'
import '../../database/test/built-worker.ts'
import { DurableInbox, type DurableMessage } from '#root'

export const LEASE_MS = 120_000

export function freshFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return join(folder, 'messages.db')
}

/** Opens a separate connection to the database, like another process. */
export async function openStore(file: string): Promise<DatabaseStore> {
  const store = await openFile(file, { busyTimeoutMs: 20_000, synchronous: 'normal' })
  await applyBaseline(store)
  return store
}

/** Opens one consumer for each name on the same database, with a clock that the test sets. */
export async function openConsumers(t: Test, ...names: string[]) {
  const file = freshFile(t)
  const clock = { now: 1_700_000_000_000 }
  const consumers: DurableInbox[] = []
  const stores: DatabaseStore[] = []
  for (const consumer of names) {
    const store = await openStore(file)
    t.teardown(() => store.close())
    stores.push(store)
    const options = { consumer, leaseMs: LEASE_MS, retentionDays: 30, now: () => clock.now }
    consumers.push(new DurableInbox(store, 'repository', options))
  }
  return { file, clock, consumers, stores }
}

export const note = (change: Partial<DurableMessage> = {}): DurableMessage => ({
  sender: 1,
  receiver: 2,
  msg_type: 'free_form',
  payload: 'hello',
  rank: 1,
  ...change
})
