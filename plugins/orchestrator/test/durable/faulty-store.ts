import { type DatabaseStore, databaseErrors, type SqlStatement } from '@svc/contracts'

/** Outcome of a transaction. */
export type Fault = 'none' | 'refused' | 'busy' | 'full' | 'unanswered' | 'late'

/** A store whose transactions meet faults, one after the other; later ones meet none. */
export interface FaultyStore extends DatabaseStore {
  readonly faults: Fault[]
  /** Every use fails while it is away. */
  away: boolean
  /** Requested transactions. */
  readonly batches: number
}

export function faulty(store: DatabaseStore): FaultyStore {
  let batches = 0
  const late: (readonly SqlStatement[])[] = []
  const gone = (): Error => databaseErrors.create('DBS_UNREACHABLE', `${store.location}: no answer`)
  const here = async <A>(run: () => Promise<A>): Promise<A> => {
    if (own.away) throw gone()
    return run()
  }
  const batch: DatabaseStore['batch'] = async statements => {
    batches += 1
    // A transaction that has been under way for long arrives just before the next one.
    for (const statements of late.splice(0)) await store.batch(statements).catch(() => {})
    switch (own.faults.shift() ?? 'none') {
      case 'refused':
        throw gone()
      case 'busy':
        throw databaseErrors.create('DBS_BUSY', `${store.location}: database is locked`)
      case 'full':
        throw databaseErrors.create('DBS_FULL', `${store.location}: database or disk is full`)
      case 'unanswered':
        await store.batch(statements)
        throw gone()
      case 'late':
        late.push(statements)
        throw gone()
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
    query: (...args) => here(() => store.query(...args)),
    execute: (...args) => here(() => store.execute(...args)),
    batch: statements => here(() => batch(statements)),
    transaction: (...args) => here(() => store.transaction(...args)),
    migrate: (...args) => here(() => store.migrate(...args)),
    sync: () => store.sync(),
    backup: file => store.backup(file),
    threadAccess: () => store.threadAccess(),
    close: () => store.close()
  }
  return own
}
