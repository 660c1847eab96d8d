import { CallBatches, coordinationErrors, coordinationSql, type DatabaseStore } from '@svc/contracts'
import { coordinationFailure, hadNoEffect, lacksTables } from './failures.ts'
import { ensureTables } from './schema.ts'

type SqlOperation<A> = coordinationSql.SqlOperation<A>

/** Maximum weight of one transaction: an operation weighs 1, and 1 more for each 64 KiB of its parameters. */
const MAX_WEIGHT = 256
const WEIGHED_CHARACTERS = 65_536
/** Minimum interval between two cleanings, in milliseconds. */
const CLEANING_INTERVAL_MS = 60_000

/**
 * Runs operations on a database. Writes of one turn of the event loop share one transaction, and so one fsync. The
 * tables are created at the first use, and again if the database was replaced by one without them.
 */
export class OperationQueue {
  readonly #database: DatabaseStore
  readonly #batches: CallBatches<SqlOperation<unknown>, unknown>
  #tables: Promise<void> | null = null
  #cleanedAt = -Infinity
  #isClosed = false
  readonly #running = new Set<Promise<unknown>>()

  constructor(database: DatabaseStore) {
    this.#database = database
    this.#batches = new CallBatches({
      run: operations => this.#runBatch(operations),
      maxWeight: MAX_WEIGHT,
      weigh,
      hadNoEffect
    })
  }

  /** Runs a write. Resolves when it is committed. */
  write<A>(operation: SqlOperation<A>): Promise<A> {
    return this.#whileOpen(async () => {
      // Throws inside a transaction of the database, for whose end the batch would wait.
      await this.#database.batch([])
      const [result] = await this.#withTables(() => this.#batches.call([operation]))
      this.#cleanSometimes()
      return result as A
    })
  }

  /** Runs a query of one statement. */
  query<A>({ statements: [statement], read }: SqlOperation<A>): Promise<A> {
    return this.#whileOpen(() =>
      this.#withTables(async () =>
        read([await this.#database.query(statement?.sql ?? '', statement?.parameters ?? [])])
      )
    )
  }

  /** Waits for calls that have started; later calls throw `CRD_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  async #runBatch(operations: readonly SqlOperation<unknown>[]): Promise<readonly unknown[]> {
    const results = await this.#database.batch(operations.flatMap(({ statements }) => statements))
    let from = 0
    return operations.map(({ statements, read }) => {
      const own = results.slice(from, from + statements.length)
      from += statements.length
      return read(own)
    })
  }

  async #withTables<A>(run: () => Promise<A>): Promise<A> {
    await this.#ensureTables()
    try {
      return await run()
    } catch (error) {
      if (!lacksTables(error)) throw error
      this.#tables = null
      await this.#ensureTables()
      return run()
    }
  }

  #ensureTables(): Promise<void> {
    this.#tables ??= ensureTables(this.#database).catch(error => {
      this.#tables = null
      throw error
    })
    return this.#tables
  }

  /** Removes expired rows after writes, at most once a minute unless more are left. */
  #cleanSometimes(): void {
    if (performance.now() - this.#cleanedAt < CLEANING_INTERVAL_MS) return
    this.#cleanedAt = performance.now()
    this.#track(this.#batches.call([coordinationSql.cleanExpired()])).then(
      ([isMore]) => {
        if (isMore === true) this.#cleanedAt = -Infinity
      },
      // The next write tries again.
      () => {}
    )
  }

  async #whileOpen<A>(run: () => Promise<A>): Promise<A> {
    const { location } = this.#database
    if (this.#isClosed) throw coordinationErrors.create('CRD_CLOSED', `coordination store in ${location} is closed`)
    try {
      return await this.#track(run())
    } catch (error) {
      throw coordinationFailure(error, location)
    }
  }

  /** Lets `close` wait for a call. */
  #track<A>(call: Promise<A>): Promise<A> {
    this.#running.add(call)
    const end = (): void => void this.#running.delete(call)
    call.then(end, end)
    return call
  }
}

function weigh({ statements }: SqlOperation<unknown>): number {
  let characters = 0
  for (const { parameters } of statements)
    for (const value of parameters) if (typeof value === 'string') characters += value.length
  return 1 + Math.floor(characters / WEIGHED_CHARACTERS)
}
