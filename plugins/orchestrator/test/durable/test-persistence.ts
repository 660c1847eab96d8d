import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentEvent, DatabaseStore } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import t from 'tap'
import '../../../database/test/built-worker.ts'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import {
  type CommitSettings,
  type DatabasePersistenceOptions,
  openDatabasePersistence,
  type Persistence,
  type Recovery
} from '#durable'
import { EventBus } from '#events'
import { SmallState } from './small-state.ts'

const folder = mkdtempSync(join(tmpdir(), 'orchestrator-durable-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
let files = 0

export const freshFile = (): string => join(folder, `${(files += 1)}.db`)

/** Opens a database file with the baseline schema. */
export async function openStore(file = freshFile(), busyTimeoutMs = 10_000): Promise<DatabaseStore> {
  const store = await openFile(file, { busyTimeoutMs, synchronous: 'normal' })
  await applyBaseline(store)
  t.teardown(() => store.close())
  return store
}

export interface TestPersistence {
  readonly persistence: Persistence
  readonly state: SmallState
  readonly recovery: Recovery
  readonly events: AgentEvent[]
  readonly lines: string[]
}

type Opening = Partial<Omit<DatabasePersistenceOptions, 'settings'>> & { readonly settings?: Partial<CommitSettings> }

export async function openTestPersistence(
  store: DatabaseStore,
  { settings, ...options }: Opening = {},
  state = new SmallState()
): Promise<TestPersistence> {
  const lines: string[] = []
  const line = (message: string, fields?: object): void => void lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const log: Logger = { debug: line, info: line, warn: line, error: line }
  const bus = new EventBus({ now: Date.now, report: error => line(String(error)) })
  const events: AgentEvent[] = []
  bus.subscribe(event => void events.push(event))
  const persistence = await openDatabasePersistence({
    store,
    repositoryId: 'repo',
    now: Date.now,
    bus,
    log,
    ...options,
    settings: () => ({ commit_timeout_ms: 10_000, commit_queue_limit: 20_000, lineage_off: false, ...settings })
  })
  const recovery = await persistence.start(state)
  return { persistence, state, recovery, events, lines }
}

/** Reads seat, kind, key and value of every record in the database. */
export async function recordsIn(store: DatabaseStore): Promise<readonly (readonly unknown[])[]> {
  return (await store.query('SELECT seat, kind, key, value FROM orchestrator_records ORDER BY seat, kind, key')).rows
}
