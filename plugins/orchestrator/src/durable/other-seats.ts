import {
  type ForeignTaskFilter,
  rowsByName,
  type SqlValue,
  type TaskProcess,
  type TaskStatusKind
} from '@svc/contracts'
import { originalJson } from './records.ts'
import type { SeatRow, Seats } from './seats.ts'
import type { StateStore } from './state-store.ts'

/** Maximum records of one query, so that their rows do not hold the event loop. */
const PAGE = 250
/** Bytes of a record above which a list shortens its texts. */
const LONG_BYTES = 4_096
/** Characters of a shortened description. */
const SHORT_CHARACTERS = 1_000

/** SQL: value of a path in a record; null for a record that is not JSON. */
const at = (path: string): string => `CASE WHEN json_valid(value) THEN json_extract(value, '$.${path}') END`
/** The status is a word, or an object for a status with more data. */
const STATUS = `coalesce(${at('s.kind')}, ${at('s')})`
const SHORTENED = `CASE WHEN length(value) > ${LONG_BYTES} AND json_valid(value) THEN json_remove(
    json_set(value, '$.d', substr(json_extract(value, '$.d'), 1, ${SHORT_CHARACTERS})),
    '$.x.transcript', '$.x.observations', '$.x.harness_spec_json', '$.x.audit_report', '$.x.attachment_manifest', '$.y')
  ELSE value END`

/** A record of another seat, as JSON. */
export interface ForeignRecord {
  readonly seat: number
  readonly json: string
}

/** Process of another seat. */
export interface SeatProcess extends TaskProcess {
  readonly seat: number
  /** Unique id of the process; null for a released seat. */
  readonly owner: string | null
  /** Number of the last transaction of the seat. */
  readonly committed: number
}

/** Number of tasks of a seat with the same status, agent, priority and complexity. */
export interface TaskCount {
  readonly seat: number
  readonly status: TaskStatusKind
  readonly agent: number
  readonly priority: string
  readonly complexity: number
  readonly count: number
  /** Highest id. */
  readonly last: number
}

/** Reads the records of the repository's other seats. Changes nothing. */
export class OtherSeats {
  readonly #store: Pick<StateStore, 'query'>
  readonly #repositoryId: string
  readonly #seats: Seats
  readonly #own: SeatRow

  /** `own`: the seat of this process. */
  constructor(store: Pick<StateStore, 'query'>, repositoryId: string, seats: Seats, own: SeatRow) {
    this.#store = store
    this.#repositoryId = repositoryId
    this.#seats = seats
    this.#own = own
  }

  /** Seat of this process. */
  get own(): number {
    return this.#own.seat
  }

  /** Unique id of this process, as in {@link SeatProcess.owner}. */
  get owner(): string {
    return this.#seats.owner
  }

  /** Returns the processes of the other seats. A seat that this process is taking over is left out. */
  async processes(): Promise<readonly SeatProcess[]> {
    const rows = await this.#seats.others(this.#own.seat)
    return rows.flatMap(row => {
      const { seat, owner, host, pid, committed } = row
      if (host === null || pid === null) return []
      return [{ seat, owner, host, pid, committed, alive: !this.#seats.isAbandoned(row), own: false }]
    })
  }

  /**
   * Reads records of tasks that match a filter, by ascending id. Without the filter `task`, records of more than 4 KB have
   * shortened descriptions and lack transcripts, observations and reasons.
   */
  async tasks(seats: readonly number[], filter: ForeignTaskFilter, signal: AbortSignal): Promise<ForeignRecord[]> {
    const { task, limit = Number.POSITIVE_INFINITY } = filter
    if (seats.length === 0) return []
    const { sql, parameters } = conditions(filter)
    if (task !== undefined || limit <= PAGE) {
      const result = await this.#store.query(
        `SELECT seat, ${task === undefined ? SHORTENED : 'value'} AS json FROM orchestrator_records
         WHERE repository_id = ? AND kind = 'task' AND seat IN (SELECT value FROM json_each(?))${sql}
         ORDER BY CAST(key AS INTEGER) LIMIT ?`,
        [this.#repositoryId, JSON.stringify(seats), ...parameters, Math.min(limit, PAGE)],
        { signal }
      )
      return rowsByName(result).map(foreignRecord)
    }
    const found: { readonly id: number; readonly record: ForeignRecord }[] = []
    for (const seat of seats) {
      let last = ''
      for (;;) {
        const result = await this.#store.query(
          `SELECT seat, key, ${SHORTENED} AS json FROM orchestrator_records
           WHERE repository_id = ? AND seat = ? AND kind = 'task' AND key > ?${sql} ORDER BY key LIMIT ?`,
          [this.#repositoryId, seat, last, ...parameters, PAGE],
          { signal }
        )
        const rows = rowsByName(result)
        for (const row of rows) found.push({ id: Number(row.key), record: foreignRecord(row) })
        const end = rows.at(-1)
        if (end === undefined || rows.length < PAGE) break
        last = String(end.key)
      }
    }
    const sorted = found.sort((one, other) => one.id - other.id).map(({ record }) => record)
    return Number.isFinite(limit) ? sorted.slice(0, limit) : sorted
  }

  /** Counts the tasks of other seats. */
  async counts(seats: readonly number[], signal: AbortSignal): Promise<readonly TaskCount[]> {
    if (seats.length === 0) return []
    const result = await this.#store.query(
      `SELECT seat, ${STATUS} AS status, ${at('a')} AS agent, coalesce(${at('p')}, 'Normal') AS priority,
         coalesce(${at('c')}, 5) AS complexity, count(*) AS count, max(CAST(key AS INTEGER)) AS last
       FROM orchestrator_records
       WHERE repository_id = ? AND kind = 'task' AND seat IN (SELECT value FROM json_each(?)) AND json_valid(value)
       GROUP BY 1, 2, 3, 4, 5`,
      [this.#repositoryId, JSON.stringify(seats)],
      { signal }
    )
    return rowsByName(result).map(row => ({
      seat: Number(row.seat),
      status: String(row.status) as TaskStatusKind,
      agent: Number(row.agent),
      priority: String(row.priority),
      complexity: Number(row.complexity),
      count: Number(row.count),
      last: Number(row.last)
    }))
  }

  /** Reads all records of some kinds, for kinds with few records. */
  async records(
    seats: readonly number[],
    kinds: readonly ('agent' | 'trust' | 'file_owner' | 'meta')[],
    signal: AbortSignal
  ): Promise<readonly (ForeignRecord & { readonly kind: string; readonly key: string })[]> {
    const found: (ForeignRecord & { readonly kind: string; readonly key: string })[] = []
    for (const seat of seats)
      for (const kind of kinds) {
        let last = ''
        for (;;) {
          const result = await this.#store.query(
            `SELECT seat, key, value AS json FROM orchestrator_records
             WHERE repository_id = ? AND seat = ? AND kind = ? AND key > ? ORDER BY key LIMIT ?`,
            [this.#repositoryId, seat, kind, last, PAGE],
            { signal }
          )
          const rows = rowsByName(result)
          for (const row of rows) found.push({ ...foreignRecord(row), kind, key: String(row.key) })
          const end = rows.at(-1)
          if (end === undefined || rows.length < PAGE) break
          last = String(end.key)
        }
      }
    return found
  }
}

function conditions({ task, agent, status, session, after }: ForeignTaskFilter) {
  const parts: string[] = []
  const parameters: SqlValue[] = []
  const add = (sql: string, value: SqlValue): void => {
    parts.push(` AND ${sql} = ?`)
    parameters.push(value)
  }
  if (after !== undefined) {
    parts.push(' AND CAST(key AS INTEGER) > ?')
    parameters.push(after)
  }
  if (task !== undefined) add('key', String(task))
  if (agent !== undefined) add(at('a'), agent)
  if (status !== undefined) add(STATUS, status)
  if (session !== undefined) add(at('x.session_id'), session)
  return { sql: parts.join(''), parameters }
}

function foreignRecord(row: Readonly<Record<string, SqlValue>>): ForeignRecord {
  return { seat: Number(row.seat), json: originalJson(String(row.json)) }
}
