import { randomUUID } from 'node:crypto'
import {
  ownIdentity,
  type Presence,
  type ProcessIdentity,
  presenceOf,
  rowsByName,
  type SqlStatement,
  type SqlValue
} from '@svc/contracts'
import type { IdRange, IdRanges, Numbered } from './ids.ts'
import type { StateStore } from './state-store.ts'

const LEASE_MS = 15_000
/** Tolerated clock difference of two hosts. With a larger one, a running process may lose its seat; it notices that. */
const CLOCK_SKEW_MS = 5_000

export interface SeatOptions {
  readonly store: StateStore
  readonly repositoryId: string
  /** Unix milliseconds. */
  readonly now: () => number
  /**
   * Lease of a seat in milliseconds after its last renewal; default 15,000. Other hosts rely on it, since they cannot
   * check the process.
   */
  readonly leaseMs?: number
  /** Default: this process. */
  readonly identity?: ProcessIdentity
  /** Returns whether another process runs; default: asks the operating system. */
  readonly presence?: (other: ProcessIdentity) => Presence
}

/** A row of `orchestrator_seats`. */
export interface SeatRow {
  readonly seat: number
  readonly owner: string | null
  readonly host: string | null
  readonly pid: number | null
  readonly start: string | null
  readonly leaseUntilMs: number
  readonly fence: number
  readonly committed: number
  readonly ids: Partial<IdRanges>
}

const COLUMNS = 'seat, owner, host, pid, process_start, lease_until_ms, fence, committed, ids'
const OWN = 'repository_id = ? AND seat = ? AND fence = ?'

/**
 * Ownership of records by processes. A claim increments the seat's fencing token. Every write under the seat checks it,
 * so a process that lost its seat cannot write.
 */
export class Seats {
  readonly owner = randomUUID()
  /** Lease in milliseconds. */
  readonly lease: number
  readonly #options: SeatOptions
  readonly #identity: ProcessIdentity
  readonly #presence: (other: ProcessIdentity) => Presence

  constructor(options: SeatOptions) {
    this.#options = options
    this.lease = options.leaseMs ?? LEASE_MS
    this.#identity = options.identity ?? ownIdentity()
    this.#presence = options.presence ?? presenceOf
  }

  /** Returns the end of a lease that starts now, in Unix milliseconds. */
  leaseUntil(): number {
    return this.#options.now() + this.lease
  }

  /** Claims the lowest free seat, or adds one. */
  async acquire(): Promise<SeatRow> {
    for (;;) {
      const rows = await this.#rows()
      const free = rows.find(row => this.isAbandoned(row))
      const acquired = free === undefined ? await this.#add((rows.at(-1)?.seat ?? 0) + 1) : await this.claim(free)
      // If another process was faster, try again.
      if (acquired !== null) return acquired
    }
  }

  /** Returns abandoned seats, and seats that this process has claimed, except for `own`. */
  async abandoned(own: number): Promise<readonly SeatRow[]> {
    const rows = await this.#rows()
    return rows.filter(row => row.seat !== own && (row.owner === this.owner || this.isAbandoned(row)))
  }

  /** Returns the seats of other processes. Seats that this process has claimed are left out. */
  async others(own: number): Promise<readonly SeatRow[]> {
    const rows = await this.#rows()
    return rows.filter(row => row.seat !== own && row.owner !== this.owner)
  }

  /** Claims a seat. Returns null if another process was faster. */
  async claim({ seat, fence }: SeatRow): Promise<SeatRow | null> {
    const { store, repositoryId } = this.#options
    const { host, pid, start } = this.#identity
    const { rows, columns } = await store.execute(
      `UPDATE orchestrator_seats SET owner = ?, host = ?, pid = ?, process_start = ?, lease_until_ms = ?, fence = fence + 1
       WHERE ${OWN} RETURNING ${COLUMNS}`,
      [this.owner, host, pid, start, this.leaseUntil(), repositoryId, seat, fence]
    )
    const [row] = rowsByName({ columns, rows })
    return row === undefined ? null : seatRow(row)
  }

  /** Extends the lease. Returns false if the process no longer owns the seat. */
  async renew(seat: number, fence: number): Promise<boolean> {
    const { store, repositoryId } = this.#options
    const { changes } = await store.execute(`UPDATE orchestrator_seats SET lease_until_ms = ? WHERE ${OWN}`, [
      this.leaseUntil(),
      repositoryId,
      seat,
      fence
    ])
    return changes === 1
  }

  /** Reads the seat's row with a write, since a replica may lag behind the primary database; null if it is missing. */
  async look(seat: number): Promise<SeatRow | null> {
    const { store, repositoryId } = this.#options
    const { rows, columns } = await store.execute(
      `UPDATE orchestrator_seats SET seat = seat WHERE repository_id = ? AND seat = ? RETURNING ${COLUMNS}`,
      [repositoryId, seat]
    )
    const [row] = rowsByName({ columns, rows })
    return row === undefined ? null : seatRow(row)
  }

  /**
   * Releases a seat with its records for the next process. `ids`: the unused ids, as JSON of {@link IdRanges}. The last
   * range is returned to its counter if no other process has taken ids since; the others stay with the seat.
   */
  async release(seat: number, fence: number, ids: string): Promise<void> {
    const { store, repositoryId } = this.#options
    const own = [repositoryId, seat, fence]
    const left: Partial<IdRanges> = JSON.parse(ids)
    const returned: SqlStatement[] = []
    const kept: { readonly sql: string; readonly parameters: readonly SqlValue[] }[] = []
    for (const name of ['task', 'agent'] as const) {
      const ranges = left[name] ?? []
      const [next, end] = ranges.at(-1) ?? [0, 0]
      returned.push({
        sql: `UPDATE orchestrator_counters SET next = ? WHERE repository_id = ? AND name = ? AND next = ?
          AND EXISTS (SELECT 1 FROM orchestrator_seats WHERE ${OWN})`,
        parameters: [next, repositoryId, name, end, ...own]
      })
      kept.push({
        sql: `json(CASE WHEN (SELECT next FROM orchestrator_counters WHERE repository_id = ? AND name = ?) <= ?
          THEN ? ELSE ? END)`,
        parameters: [repositoryId, name, next, JSON.stringify(ranges.slice(0, -1)), JSON.stringify(ranges)]
      })
    }
    await store.batch([
      ...returned,
      {
        sql: `UPDATE orchestrator_seats SET owner = NULL, lease_until_ms = 0, fence = fence + 1,
          ids = json_object('task', ${kept[0]?.sql}, 'agent', ${kept[1]?.sql}) WHERE ${OWN}`,
        parameters: [...kept.flatMap(({ parameters }) => parameters), ...own]
      }
    ])
  }

  /** Takes ids from a counter, and stores them with the seat, so that they are not lost with the process. */
  async takeIds({ seat, fence }: Pick<SeatRow, 'seat' | 'fence'>, kind: Numbered, count: number): Promise<IdRange> {
    const { store, repositoryId } = this.#options
    const counter = 'SELECT next FROM orchestrator_counters WHERE repository_id = ? AND name = ?'
    const [counted] = await store.batch([
      {
        sql: `INSERT INTO orchestrator_counters (repository_id, name, next) VALUES (?, ?, ?)
          ON CONFLICT (repository_id, name) DO UPDATE SET next = next + ? RETURNING next`,
        parameters: [repositoryId, kind, count + 1, count]
      },
      {
        sql: `UPDATE orchestrator_seats SET ids = json_set(coalesce(ids, '{}'), '$.${kind}', json(json_insert(
            coalesce(json_extract(ids, '$.${kind}'), '[]'), '$[#]', json_array((${counter}) - ?, (${counter})))))
          WHERE ${OWN}`,
        parameters: [repositoryId, kind, count, repositoryId, kind, repositoryId, seat, fence]
      }
    ])
    const end = Number(counted?.rows[0]?.[0])
    return [end - count, end]
  }

  /**
   * Returns true if a seat may be claimed. If the owner is on this host, its process is checked. The lease decides for
   * an owner on another host, and for an earlier owner within this process.
   */
  isAbandoned({ owner, host, pid, start, leaseUntilMs }: SeatRow): boolean {
    if (owner === null || host === null || pid === null) return true
    if (owner === this.owner) return false
    const ranOut = this.#options.now() > leaseUntilMs + CLOCK_SKEW_MS
    const { host: ownHost, pid: ownPid, start: ownStart } = this.#identity
    if (host === ownHost && pid === ownPid && start === ownStart) return ranOut
    const presence = this.#presence({ host, pid, start })
    return presence === 'dead' || (presence === 'unknown' && ranOut)
  }

  async #rows(): Promise<readonly SeatRow[]> {
    const { store, repositoryId } = this.#options
    const result = await store.query(
      `SELECT ${COLUMNS} FROM orchestrator_seats WHERE repository_id = ? ORDER BY seat`,
      [repositoryId]
    )
    return rowsByName(result).map(seatRow)
  }

  async #add(seat: number): Promise<SeatRow | null> {
    const { store, repositoryId } = this.#options
    const { host, pid, start } = this.#identity
    const { rows, columns } = await store.execute(
      `INSERT INTO orchestrator_seats (repository_id, seat, owner, host, pid, process_start, lease_until_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [repositoryId, seat, this.owner, host, pid, start, this.leaseUntil()]
    )
    const [row] = rowsByName({ columns, rows })
    return row === undefined ? null : seatRow(row)
  }
}

export interface SeatTurn {
  readonly repositoryId: string
  readonly seat: number
  readonly fence: number
  /** Number of the previous transaction. */
  readonly from: number
  /** Number of this transaction. */
  readonly to: number
  readonly leaseUntilMs: number
  readonly ids: string
}

/**
 * Returns the first statements of each transaction of a seat. They fail if another process owns the seat, or if the
 * last committed transaction is not `from`.
 */
export function seatTurn({ repositoryId, seat, fence, from, to, leaseUntilMs, ids }: SeatTurn): SqlStatement[] {
  return [
    {
      sql: `UPDATE orchestrator_seats SET committed = ?, lease_until_ms = ?, ids = ? WHERE ${OWN} AND committed = ?`,
      parameters: [to, leaseUntilMs, ids, repositoryId, seat, fence, from]
    },
    guard(repositoryId, seat, fence, to)
  ]
}

/**
 * Returns statements that move the records of a claimed seat to seat `to`, and delete the claimed seat. If both seats
 * have a record with the same key, that of `to` stays.
 */
export function mergeSeat(repositoryId: string, from: SeatRow, to: number): SqlStatement[] {
  const { seat, fence, committed } = from
  const parameters = [repositoryId, seat]
  return [
    guard(repositoryId, seat, fence, committed),
    {
      sql: 'UPDATE OR IGNORE orchestrator_records SET seat = ? WHERE repository_id = ? AND seat = ?',
      parameters: [to, repositoryId, seat]
    },
    { sql: 'DELETE FROM orchestrator_records WHERE repository_id = ? AND seat = ?', parameters },
    { sql: 'DELETE FROM orchestrator_seats WHERE repository_id = ? AND seat = ?', parameters }
  ]
}

/** Returns a statement that violates a constraint, and so aborts the transaction, if the seat has changed. */
function guard(repositoryId: string, seat: number, fence: number, committed: number): SqlStatement {
  return {
    sql: `INSERT INTO orchestrator_records (repository_id, seat, kind, key, value) SELECT NULL, 0, '', '', ''
      WHERE NOT EXISTS (SELECT 1 FROM orchestrator_seats WHERE ${OWN} AND committed = ?)`,
    parameters: [repositoryId, seat, fence, committed]
  }
}

function seatRow(row: Readonly<Record<string, SqlValue>>): SeatRow {
  const text = (value: SqlValue | undefined): string | null => (typeof value === 'string' ? value : null)
  return {
    seat: Number(row.seat),
    owner: text(row.owner),
    host: text(row.host),
    pid: row.pid === null ? null : Number(row.pid),
    start: text(row.process_start),
    leaseUntilMs: Number(row.lease_until_ms),
    fence: Number(row.fence),
    committed: Number(row.committed),
    ids: JSON.parse(text(row.ids) ?? '{}')
  }
}
