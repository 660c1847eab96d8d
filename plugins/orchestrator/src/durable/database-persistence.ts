import { type Durability, ORCHESTRATOR_TABLES, orchestrationErrors } from '@svc/contracts'
import type { Logger, SvcError } from '@svc/plugin-sdk'
import type { EventBus } from '../events/bus.ts'
import type { IdSource, Restorable } from '../state/ports.ts'
import type { Committer } from './committer.ts'
import { type CommitSettings, DatabaseCommitter } from './database-committer.ts'
import { IdBlocks } from './ids.ts'
import { OtherSeats } from './other-seats.ts'
import type { Persistence, Recovery } from './persistence.ts'
import { joinRecoveries, recoverSeat } from './recovery.ts'
import { mergeSeat, type SeatOptions, type SeatRow, Seats } from './seats.ts'

/** Interval between searches for the state of ended processes. */
const LOOK_MS = 10_000
/** Timeout of closing if the database does not respond. */
const CLOSE_MS = 5_000

export interface DatabasePersistenceOptions extends SeatOptions {
  readonly bus: EventBus
  readonly log: Logger
  /** Read for each change. */
  readonly settings: () => CommitSettings
  /** Milliseconds between searches for the state of ended processes; default 10,000. */
  readonly lookMs?: number
  /** Milliseconds that closing waits for a database that does not respond; default 5,000. */
  readonly closeMs?: number
  /** Called once when another process has claimed the seat; this one writes nothing afterwards. */
  readonly onLost?: (error: SvcError) => void
}

/** Opens the storage of the state in a database. Throws the database's error if it is unavailable. */
export async function openDatabasePersistence(options: DatabasePersistenceOptions): Promise<Persistence> {
  const { store } = options
  await store.migrate(`${Object.values(ORCHESTRATOR_TABLES).join(';\n')};`)
  const seats = new Seats(options)
  const seat = await seats.acquire()
  const ids = new IdBlocks((kind, count) => seats.takeIds(seat, kind, count))
  ids.add(seat.ids)
  const persistence = new DatabasePersistence(options, seats, seat, ids)
  await ids.ready()
  return persistence
}

class DatabasePersistence implements Persistence {
  readonly durability: Durability
  readonly ids: IdSource
  readonly others: OtherSeats
  readonly #options: DatabasePersistenceOptions
  readonly #seats: Seats
  readonly #seat: SeatRow
  readonly #blocks: IdBlocks
  readonly #renewal: NodeJS.Timeout
  #state: Restorable | null = null
  #committer: DatabaseCommitter | null = null
  /** Claimed seats whose records are being moved to this process's seat. */
  readonly #merging = new Set<number>()
  #lookAt = 0
  #looking: Promise<Recovery | null> | null = null
  #closed = false

  constructor(options: DatabasePersistenceOptions, seats: Seats, seat: SeatRow, ids: IdBlocks) {
    this.#options = options
    this.#seats = seats
    this.#seat = seat
    this.#blocks = ids
    this.ids = ids
    this.others = new OtherSeats(options.store, options.repositoryId, seats, seat)
    this.durability = { kind: 'database', location: options.store.location }
    this.#renewal = setInterval(() => void this.#renew(), seats.lease / 3)
    this.#renewal.unref()
  }

  get committer(): Committer {
    return this.#started()
  }

  async start(state: Restorable): Promise<Recovery> {
    const options = this.#options
    const { store, repositoryId, bus, log, now, settings, onLost = () => {} } = options
    const own = await recoverSeat(store, repositoryId, this.#seat, state, false)
    this.#state = state
    this.#committer = new DatabaseCommitter({
      store,
      repositoryId,
      seats: this.#seats,
      seat: this.#seat,
      source: state,
      ids: () => this.#blocks.serialise(),
      bus,
      log,
      now,
      settings,
      onLost
    })
    this.#report(own.recovery)
    await this.#committer.commit(own.changes)
    const others = await this.#adopt()
    return joinRecoveries([own.recovery, ...others])
  }

  async tick(): Promise<Recovery | null> {
    if (this.#closed || this.#committer === null || performance.now() < this.#lookAt) return null
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#renewal)
    await this.#looking
    const { log, store, closeMs = CLOSE_MS } = this.#options
    const left = (await this.#committer?.close(closeMs)) ?? 0
    if (left > 0) log.error('the orchestrator closed with unwritten changes', { changes: left })
    try {
      await this.#seats.release(this.#seat.seat, this.#seat.fence, this.#blocks.serialise())
    } catch (error) {
      // Other processes take the seat over once they notice that this process has ended.
      log.warn(`seat ${this.#seat.seat} in ${store.location} was not released`, { reason: String(error) })
    }
  }

  async #look(): Promise<Recovery | null> {
    try {
      const found = await this.#adopt()
      return found.length === 0 ? null : joinRecoveries(found)
    } catch (error) {
      this.#options.log.warn('the search for the state of ended processes failed', { reason: String(error) })
      return null
    } finally {
      this.#lookAt = performance.now() + (this.#options.lookMs ?? LOOK_MS)
    }
  }

  /** Moves the records of free seats to this process's seat. */
  async #adopt(): Promise<readonly Recovery[]> {
    const { store, repositoryId } = this.#options
    const recoveries: Recovery[] = []
    for (const abandoned of await this.#seats.abandoned(this.#seat.seat)) {
      if (this.#merging.has(abandoned.seat)) continue
      const claimed = await this.#seats.claim(abandoned)
      if (claimed === null) continue
      const { recovery, changes } = await recoverSeat(store, repositoryId, claimed, this.#state as Restorable, true)
      this.#blocks.add(claimed.ids)
      this.#report(recovery)
      this.#merging.add(claimed.seat)
      // If this times out, the change stays in the queue, and the seat stays in `#merging`.
      await this.#started().commitWith(changes, mergeSeat(repositoryId, claimed, this.#seat.seat))
      this.#merging.delete(claimed.seat)
      recoveries.push(recovery)
    }
    return recoveries
  }

  async #renew(): Promise<void> {
    try {
      await this.#seats.renew(this.#seat.seat, this.#seat.fence)
    } catch {
      // The next transaction or renewal extends the lease. Meanwhile, no process of this host claims the seat.
    }
  }

  #report({ unreadable, records, seats }: Recovery): void {
    const { log } = this.#options
    for (const { kind, key, reason } of unreadable)
      log.error(`orchestrator record ${kind}/${key} cannot be read; it is left unchanged`, { reason })
    if (records > 0) log.info('the orchestrator state was restored', { records, seat: seats[0] })
  }

  #started(): DatabaseCommitter {
    if (this.#committer !== null) return this.#committer
    throw orchestrationErrors.create('ORC_CLOSED', 'Orchestrator is closed: its state is not loaded yet')
  }
}
