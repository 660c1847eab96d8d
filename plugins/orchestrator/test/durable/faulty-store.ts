import { type DatabaseStore, databaseErrors, type SqlStatement } from '@svc/contracts'

/** Outcome of a transaction. */
export type Fault = 'none' | 'refused' | 'busy' | 'full' | 'unanswered' | 'late'

/** A store whose next transactions have the queued faults; later ones succeed. */
export interface FaultyStore extends DatabaseStore {
  readonly faults: Fault[]
  /** If true, every call fails. */
  away: boolean
  /** Number of started transactions. */
  readonly batches: number
}

export function faulty(store: DatabaseStore): FaultyStore {
  let batches = 0
  const late: (readonly SqlStatement[])[] = []
  const unreachable = (): Error => databaseErrors.create('DBS_UNREACHABLE', `${store.location}: no response`)
  const ifReachable = async <A>(run: () => Promise<A>): Promise<A> => {
    if (own.away) throw unreachable()
    return run()
  }
  const batch: DatabaseStore['batch'] = async statements => {
    batches += 1
    // A delayed transaction arrives just before the next one.
    for (const statements of late.splice(0)) await store.batch(statements).catch(() => {})
    switch (own.faults.shift() ?? 'none') {
      case 'refused':
        throw unreachable()
      case 'busy':
        throw databaseErrors.create('DBS_BUSY', `${store.location}: database is locked`)
      case 'full':
        throw databaseErrors.create('DBS_FULL', `${store.location}: database or disk is full`)
      case 'unanswered':
        await store.batch(statements)
        throw unreachable()
      case 'late':
        late.push(statements)
        throw unreachable()
      default:
        return store.batch(statements)
    }
  }
  const own: FaultyStore = {
    faults: [],
    away: false,
    get batches() {
      return batches
    },
    mode: store.mode,
    location: store.location,
    capabilities: () => store.capabilities(),
    query: (...args) => ifReachable(() => store.query(...args)),
    execute: (...args) => ifReachable(() => store.execute(...args)),
    batch: statements => ifReachable(() => batch(statements)),
    transaction: (...args) => ifReachable(() => store.transaction(...args)),
    migrate: (...args) => ifReachable(() => store.migrate(...args)),
    sync: () => store.sync(),
    backup: file => store.backup(file),
    threadAccess: () => store.threadAccess(),
    close: () => store.close()
  }
  return own
}
