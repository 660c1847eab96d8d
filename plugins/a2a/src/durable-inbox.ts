import { createHash, randomUUID } from 'node:crypto'
import {
  type A2aMessage,
  type DatabaseStore,
  type DeadLetter,
  type NackOptions,
  rowsByName,
  type SqlStatement,
  type SqlValue
} from '@svc/contracts'
import type { Clarification } from './clarification.ts'
import { priorityOfRank } from './planes.ts'

/** Maximum messages that one call claims. */
const MAX_CLAIMS = 2_048
const DAY_MS = 86_400_000
const PRUNE_EVERY_MS = 3_600_000

export interface DurableMessage {
  readonly sender: number
  readonly receiver: number
  readonly msg_type: string
  readonly payload: string
  /** Priority as a number: 0 to 3, or 5 for clarifications. */
  readonly rank: number
  readonly thread_id?: string | undefined
  readonly correlation_id?: string | undefined
  readonly tenant_id?: string | undefined
  /** Idempotency key of the caller. A second message with the same key, sender and receiver is not stored. */
  readonly key?: string | undefined
  readonly clarification?: Clarification | undefined
  /** Milliseconds until the message can be claimed; default 0. */
  readonly delayMs?: number | undefined
  /** Claims after which the message becomes a dead letter; default: {@link InboxOptions.maxAttempts}. */
  readonly maxAttempts?: number | undefined
}

/** A message that may be claimed. */
export interface MessageCandidate {
  readonly id: number
  readonly msg_type: string
  readonly rank: number
  readonly timestamp_ms: number
}

export interface InboxOptions {
  readonly consumer: string
  readonly leaseMs: number
  readonly retentionDays: number
  /** Claims after which an unacknowledged message becomes a dead letter; default: unlimited. */
  readonly maxAttempts?: number | undefined
  readonly now?: () => number
  /** `repository_id` of the rows; default: the id of the repository. Rows with that id get the label. */
  readonly label?: string
}

const COLUMNS = `m.id, m.message_uuid, m.sender_agent, m.receiver_agent, m.msg_type, m.payload, m.priority, m.thread_id,
  m.acknowledged, m.created_at, d.correlation_id`
const JOINED = 'a2a_messages AS m LEFT JOIN a2a_message_details AS d ON d.message_id = m.id'
const DELIVERED = 'a2a_messages AS m LEFT JOIN a2a_message_delivery AS v ON v.message_id = m.id'
/**
 * Delivery of a message; most messages have no row. `attempts_before`: claims before it was last revived, which no longer
 * count. Separate from the baseline table, whose columns other programs rely on.
 */
const DELIVERY = `CREATE TABLE IF NOT EXISTS a2a_message_delivery (
  message_id INTEGER PRIMARY KEY REFERENCES a2a_messages (id) ON DELETE CASCADE,
  not_before_ms INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  attempts_before INTEGER NOT NULL DEFAULT 0,
  dead_at_ms INTEGER,
  error TEXT
);`
/** SQL condition for messages that can be delivered. */
const DELIVERABLE = `m.receiver_agent = :receiver AND m.repository_id = :repository AND m.acknowledged = 0
  AND v.dead_at_ms IS NULL AND coalesce(v.not_before_ms, 0) <= :now`
/** SQL condition for messages that the consumer may claim. */
const CLAIMABLE = `${DELIVERABLE}
  AND (m.claim_owner IS NULL OR m.claim_owner = :consumer OR coalesce(m.claim_until_ms, 0) <= :now)`
/** SQL condition for a claim of the consumer whose lease has not expired. */
const IS_OWN_CLAIM = 'm.claim_owner IS :consumer AND m.claim_until_ms > :now'
/** SQL condition for a message of the agent with its current fence. */
const CURRENT_CLAIM = `receiver_agent = :receiver AND repository_id = :repository AND acknowledged = 0
  AND claim_owner IS NOT NULL AND delivery_attempts = :fence`
/** Maximum characters of a stored error. */
const MAX_ERROR = 4_096

/**
 * Stores messages as rows until they are acknowledged. Reading leases a message: no other consumer gets it during the
 * lease. After that, an unacknowledged message is delivered to the next reader.
 *
 * The fence of a claim is the message's number of deliveries. It grows with each claim, except if a consumer reads again
 * during its lease. A message with too many claims becomes a dead letter.
 */
export class DurableInbox {
  readonly #store: DatabaseStore
  /** Identity of the repository. Keys of messages are unique in it. */
  readonly #repository: string
  /** `repository_id` of the rows. */
  readonly #label: string
  readonly #options: InboxOptions
  readonly #now: () => number
  #prunedAt = 0
  #ready: Promise<void> | null = null

  constructor(store: DatabaseStore, repository: string, options: InboxOptions) {
    this.#store = store
    this.#repository = repository
    this.#label = options.label ?? repository
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Stores a message. If its key is already stored, stores nothing and returns the first message's id with `repeated`. */
  async send(message: DurableMessage): Promise<{
    readonly id: number
    readonly uuid: string
    readonly repeated: boolean
    readonly timestamp_ms: number
  }> {
    await this.#prepare()
    const uuid = message.key === undefined ? randomUUID() : this.#deriveUuid(message, message.key)
    const now = this.#now()
    const insert: SqlStatement = {
      sql: `INSERT INTO a2a_messages (message_uuid, sender_agent, receiver_agent, msg_type, payload, priority, thread_id,
              created_at, repository_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (message_uuid) DO NOTHING RETURNING id`,
      parameters: [
        uuid,
        String(message.sender),
        String(message.receiver),
        message.msg_type,
        message.payload,
        message.rank,
        message.thread_id ?? null,
        toSqlTime(now),
        this.#label
      ]
    }
    const more = [deliveryOf(message, uuid, now), detailsOf(message, uuid)].filter(each => each !== null)
    const [inserted] = await this.#store.batch([insert, ...more])
    const id = inserted?.rows[0]?.[0]
    if (id !== undefined) return { id: Number(id), uuid, repeated: false, timestamp_ms: now }
    const { rows } = await this.#store.query('SELECT id, created_at FROM a2a_messages WHERE message_uuid = ?', [uuid])
    const [first, created] = rows[0] ?? []
    return { id: Number(first), uuid, repeated: true, timestamp_ms: fromSqlTime(String(created)) }
  }

  /**
   * Claims messages of an agent for this consumer in one immediate transaction. Returns them by priority, highest
   * first, then by id. `choose` selects from the first `limit` claimable messages; by default all of them. Messages that
   * were claimed too often become dead letters.
   */
  async claim(
    agent: number,
    { limit, before }: { readonly limit: number; readonly before?: number | undefined },
    choose: (candidates: readonly MessageCandidate[]) => readonly number[] = candidates =>
      candidates.map(({ id }) => id)
  ): Promise<readonly A2aMessage[]> {
    await this.#prepare()
    const now = this.#now()
    const { consumer, leaseMs, maxAttempts = null } = this.#options
    const scope = { receiver: String(agent), repository: this.#label, consumer, now }
    return this.#store.transaction(async tx => {
      const bury = { ...scope, max: maxAttempts }
      await tx.execute(
        `INSERT INTO a2a_message_delivery (message_id, dead_at_ms, error)
         SELECT m.id, :now, coalesce('the lease of ' || m.claim_owner || ' expired', m.last_claim_error)
         FROM ${DELIVERED} WHERE ${CLAIMABLE} AND NOT coalesce(${IS_OWN_CLAIM}, 0)
           AND m.delivery_attempts - coalesce(v.attempts_before, 0) >= coalesce(v.max_attempts, :max)
         ON CONFLICT (message_id) DO UPDATE SET dead_at_ms = excluded.dead_at_ms, error = excluded.error`,
        bury
      )
      const claimable = await tx.query(
        `SELECT m.id, m.msg_type, m.priority, m.created_at FROM ${DELIVERED}
         WHERE ${CLAIMABLE} AND (:before IS NULL OR m.id < :before) ORDER BY m.priority DESC, m.id LIMIT :limit`,
        { ...scope, before: before ?? null, limit: Math.min(Math.max(limit, 1), MAX_CLAIMS) }
      )
      const candidates = claimable.rows.map(([id, type, rank, created]) => ({
        id: Number(id),
        msg_type: String(type),
        rank: Number(rank),
        timestamp_ms: fromSqlTime(String(created))
      }))
      const chosen = JSON.stringify(choose(candidates))
      if (chosen === '[]') return []
      await tx.execute(
        `UPDATE a2a_messages SET
           delivery_attempts = delivery_attempts + iif(claim_owner = :consumer AND claim_until_ms > :now, 0, 1),
           last_claim_error = iif(claim_owner <> :consumer, 'the lease of ' || claim_owner || ' expired', last_claim_error),
           claim_owner = :consumer, claim_until_ms = :until
         WHERE id IN (SELECT value FROM json_each(:chosen))`,
        { consumer, now, until: now + leaseMs, chosen }
      )
      const { columns, rows } = await tx.query(
        `SELECT ${COLUMNS}, m.delivery_attempts AS fence FROM ${JOINED}
         WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.priority DESC, m.id`,
        [chosen]
      )
      return rowsByName({ columns, rows }).map(row => ({
        ...toMessage(row),
        fence: Number(row.fence),
        leased_until_ms: now + leaseMs
      }))
    })
  }

  /** Returns whether the agent has an unacknowledged message with that id or UUID. */
  async has(agent: number, message: number | string): Promise<boolean> {
    const { rows } = await this.#store.query(
      `SELECT 1 FROM a2a_messages WHERE ${idCondition(message)} AND receiver_agent = ? AND repository_id = ? AND acknowledged = 0`,
      [message, String(agent), this.#label]
    )
    return rows.length > 0
  }

  /**
   * Acknowledges a message; false if there is none to acknowledge. With `fence`, only the claim with that fence can do so,
   * also after its lease, while no other consumer has claimed the message. Without it, anybody can, also for a dead letter.
   */
  async ack(agent: number, message: number | string, fence?: number): Promise<boolean> {
    const now = this.#now()
    const isCurrent = fence === undefined ? '' : ' AND claim_owner IS NOT NULL AND delivery_attempts = ?'
    const { changes } = await this.#store.execute(
      `UPDATE a2a_messages SET acknowledged = 1, claim_owner = NULL, claim_until_ms = NULL, processed_at_ms = ?
       WHERE ${idCondition(message)} AND receiver_agent = ? AND repository_id = ? AND acknowledged = 0${isCurrent}`,
      [now, message, String(agent), this.#label, ...(fence === undefined ? [] : [fence])]
    )
    if (now - this.#prunedAt >= PRUNE_EVERY_MS) await this.#prune(now)
    return changes > 0
  }

  /** Extends the lease of a claim from now on. False if the fence is not current, or the lease has expired. */
  async extend(
    agent: number,
    message: number | string,
    fence: number,
    leaseMs = this.#options.leaseMs
  ): Promise<boolean> {
    const now = this.#now()
    const { changes } = await this.#store.execute(
      `UPDATE a2a_messages SET claim_until_ms = :until
       WHERE ${named(message)} AND ${CURRENT_CLAIM} AND claim_until_ms > :now`,
      { ...this.#claim(agent, message, fence), now, until: now + leaseMs }
    )
    return changes > 0
  }

  /** Returns a claimed message to the inbox, or makes it a dead letter. False if the fence is not current. */
  async nack(
    agent: number,
    message: number | string,
    fence: number,
    { delay_ms = 0, error, reject = false }: NackOptions = {}
  ): Promise<boolean> {
    await this.#prepare()
    const now = this.#now()
    const reason = error?.slice(0, MAX_ERROR) ?? null
    return this.#store.transaction(async tx => {
      const { rows } = await tx.execute(
        `UPDATE a2a_messages SET claim_owner = NULL, claim_until_ms = NULL,
           last_claim_error = coalesce(:reason, last_claim_error)
         WHERE ${named(message)} AND ${CURRENT_CLAIM} AND NOT EXISTS (
           SELECT 1 FROM a2a_message_delivery AS v WHERE v.message_id = a2a_messages.id AND v.dead_at_ms IS NOT NULL)
         RETURNING id`,
        { ...this.#claim(agent, message, fence), reason }
      )
      const id = rows[0]?.[0]
      if (id === undefined) return false
      await tx.execute(
        `INSERT INTO a2a_message_delivery (message_id, not_before_ms, dead_at_ms, error) VALUES (?, ?, ?, ?)
         ON CONFLICT (message_id) DO UPDATE SET not_before_ms = excluded.not_before_ms, dead_at_ms = excluded.dead_at_ms,
           error = excluded.error`,
        [id, now + delay_ms, reject ? now : null, reason ?? (reject ? 'a reader rejected it' : null)]
      )
      return true
    })
  }

  /** Returns the dead letters of an agent, or of all agents, newest first. */
  async dead(
    agent: number | null,
    { limit, before }: { readonly limit: number; readonly before?: number | undefined }
  ): Promise<readonly DeadLetter[]> {
    await this.#prepare()
    const { columns, rows } = await this.#store.query(
      `SELECT ${COLUMNS}, m.delivery_attempts - v.attempts_before AS attempts, v.dead_at_ms, v.error
       FROM ${JOINED} JOIN a2a_message_delivery AS v ON v.message_id = m.id
       WHERE m.repository_id = :repository AND m.acknowledged = 0 AND v.dead_at_ms IS NOT NULL
         AND (:receiver IS NULL OR m.receiver_agent = :receiver) AND (:before IS NULL OR m.id < :before)
       ORDER BY m.id DESC LIMIT :limit`,
      {
        repository: this.#label,
        receiver: agent === null ? null : String(agent),
        before: before ?? null,
        limit
      }
    )
    return rowsByName({ columns, rows }).map(row => ({
      ...toMessage(row),
      attempts: Number(row.attempts),
      died_at_ms: Number(row.dead_at_ms),
      error: row.error === null || row.error === undefined ? null : String(row.error)
    }))
  }

  /** Makes dead letters of an agent claimable again; their earlier claims no longer count. Returns their number. */
  async revive(agent: number, messages: readonly number[]): Promise<number> {
    await this.#prepare()
    const { changes } = await this.#store.execute(
      `UPDATE a2a_message_delivery SET dead_at_ms = NULL, not_before_ms = 0, error = NULL,
         attempts_before = (SELECT delivery_attempts FROM a2a_messages WHERE id = message_id)
       WHERE dead_at_ms IS NOT NULL AND message_id IN (SELECT value FROM json_each(?)) AND EXISTS (
         SELECT 1 FROM a2a_messages AS m
         WHERE m.id = message_id AND m.receiver_agent = ? AND m.repository_id = ? AND m.acknowledged = 0)`,
      [JSON.stringify(messages), String(agent), this.#label]
    )
    return changes
  }

  /**
   * Counts the unacknowledged messages of an agent: all, and those whose type is not in `types`. Delayed messages and dead
   * letters do not count.
   */
  async unread(agent: number, types: readonly string[]): Promise<{ readonly all: number; readonly others: number }> {
    await this.#prepare()
    const { rows } = await this.#store.query(
      `SELECT count(*), coalesce(sum(m.msg_type NOT IN (SELECT value FROM json_each(:types))), 0)
       FROM ${DELIVERED} WHERE ${DELIVERABLE}`,
      { types: JSON.stringify(types), receiver: String(agent), repository: this.#label, now: this.#now() }
    )
    return { all: Number(rows[0]?.[0]), others: Number(rows[0]?.[1]) }
  }

  /** Returns the last messages since a time, oldest first. */
  async history(since: number, limit: number): Promise<readonly A2aMessage[]> {
    const { columns, rows } = await this.#store.query(
      `SELECT ${COLUMNS} FROM ${JOINED} WHERE m.repository_id = ? AND m.created_at >= ? ORDER BY m.id DESC LIMIT ?`,
      [this.#label, toSqlTime(since), limit]
    )
    return rowsByName({ columns, rows }).map(toMessage).reverse()
  }

  /** Returns the id of the last message, in any repository; 0 if there is none. */
  async lastId(): Promise<number> {
    return Number((await this.#store.query('SELECT coalesce(max(id), 0) FROM a2a_messages')).rows[0]?.[0])
  }

  /** Returns at most `limit` messages with ids above `id`, sorted by id. Includes messages of other processes. */
  async after(id: number, limit: number): Promise<readonly A2aMessage[]> {
    const { columns, rows } = await this.#store.query(
      `SELECT ${COLUMNS} FROM ${JOINED} WHERE m.id > ? AND m.repository_id = ? ORDER BY m.id LIMIT ?`,
      [id, this.#label, limit]
    )
    return rowsByName({ columns, rows }).map(toMessage)
  }

  /** Creates the table of deliveries, once. A failure is repeated by the next call. */
  #prepare(): Promise<void> {
    this.#ready ??= this.#open().catch(error => {
      this.#ready = null
      throw error
    })
    return this.#ready
  }

  async #open(): Promise<void> {
    await this.#store.migrate(DELIVERY)
    if (this.#label === this.#repository) return
    // An earlier version stored messages under the id of the repository.
    await this.#store.execute('UPDATE a2a_messages SET repository_id = ? WHERE repository_id = ?', [
      this.#label,
      this.#repository
    ])
  }

  #claim(agent: number, message: number | string, fence: number) {
    return { message, fence, receiver: String(agent), repository: this.#label }
  }

  async #prune(now: number): Promise<void> {
    this.#prunedAt = now
    await this.#store.execute(
      'DELETE FROM a2a_messages WHERE repository_id = ? AND acknowledged = 1 AND processed_at_ms < ?',
      [this.#label, now - this.#options.retentionDays * DAY_MS]
    )
  }

  /** Derives a UUID (version 8, RFC 9562) from sender, receiver and key; it is the same in all processes. */
  #deriveUuid({ sender, receiver }: DurableMessage, key: string): string {
    const digest = createHash('sha256')
      .update(JSON.stringify([this.#repository, sender, receiver, key]))
      .digest()
    digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6)
    digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
    const hex = digest.toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
  }
}

function detailsOf(message: DurableMessage, uuid: string): SqlStatement | null {
  const { correlation_id = null, tenant_id = null, key = null, clarification } = message
  if (correlation_id === null && tenant_id === null && key === null && clarification === undefined) return null
  return {
    sql: `INSERT OR IGNORE INTO a2a_message_details (message_id, correlation_id, tenant_id, idempotency_key,
            clarification_intent, hypothesis_set_id, question_kind, expected_information_gain_bits, expected_user_cost,
            requested_evidence_dimensions_json, urgency, stop_policy_json)
          SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM a2a_messages WHERE message_uuid = ?`,
    parameters: [
      correlation_id,
      tenant_id,
      key,
      clarification?.clarification_intent ?? null,
      clarification?.hypothesis_set_id ?? null,
      clarification?.question_kind ?? null,
      clarification?.expected_information_gain_bits ?? null,
      clarification?.expected_user_cost ?? null,
      jsonOrNull(clarification?.requested_evidence_dimensions),
      clarification?.urgency ?? null,
      jsonOrNull(clarification?.stop_policy),
      uuid
    ]
  }
}

/**
 * Returns the statement that stores the delay and the maximum claims of a message; null if it has neither. It follows the
 * insertion of the message, and has no effect if the message existed before.
 */
function deliveryOf({ delayMs = 0, maxAttempts }: DurableMessage, uuid: string, now: number): SqlStatement | null {
  if (delayMs === 0 && maxAttempts === undefined) return null
  return {
    sql: `INSERT OR IGNORE INTO a2a_message_delivery (message_id, not_before_ms, max_attempts)
          SELECT id, ?, ? FROM a2a_messages WHERE message_uuid = ? AND changes() > 0`,
    parameters: [now + delayMs, maxAttempts ?? null, uuid]
  }
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Returns the SQL condition that selects a message by id or UUID. */
function idCondition(message: number | string): string {
  return typeof message === 'number' ? 'id = ?' : 'message_uuid = ?'
}

/** Like {@link idCondition}, with the named parameter `message`. */
function named(message: number | string): string {
  return typeof message === 'number' ? 'id = :message' : 'message_uuid = :message'
}

function toMessage(row: Readonly<Record<string, SqlValue>>): A2aMessage {
  return {
    id: Number(row.id),
    uuid: String(row.message_uuid),
    sender: Number(row.sender_agent),
    receiver: Number(row.receiver_agent),
    msg_type: String(row.msg_type),
    payload: String(row.payload),
    plane: 'local_durable',
    ...(row.correlation_id === null ? {} : { correlation_id: String(row.correlation_id) }),
    ...(row.thread_id === null ? {} : { thread_id: String(row.thread_id) }),
    priority: priorityOfRank(Number(row.priority)),
    timestamp_ms: fromSqlTime(String(row.created_at)),
    acknowledged: row.acknowledged === 1
  }
}

/** Formats a time as `2026-01-02 03:04:05.678`, which sorts with the times that the database writes. */
function toSqlTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', '')
}

function fromSqlTime(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`)
}
