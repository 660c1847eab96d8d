import { createHash, randomUUID } from 'node:crypto'
import { type A2aMessage, type DatabaseStore, rowsByName, type SqlStatement, type SqlValue } from '@svc/contracts'
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
  readonly now?: () => number
}

const COLUMNS = `m.id, m.message_uuid, m.sender_agent, m.receiver_agent, m.msg_type, m.payload, m.priority, m.thread_id,
  m.acknowledged, m.created_at, d.correlation_id`
const JOINED = 'a2a_messages AS m LEFT JOIN a2a_message_details AS d ON d.message_id = m.id'
/** SQL condition for messages that the consumer may claim. */
const CLAIMABLE = `m.receiver_agent = :receiver AND m.repository_id = :repository AND m.acknowledged = 0
  AND (m.claim_owner IS NULL OR m.claim_owner = :consumer OR coalesce(m.claim_until_ms, 0) <= :now)`

/**
 * Stores messages as rows until they are acknowledged. Reading leases a message: no other consumer gets it during the
 * lease. After that, an unacknowledged message is delivered to the next reader.
 */
export class DurableInbox {
  readonly #store: DatabaseStore
  readonly #repository: string
  readonly #options: InboxOptions
  readonly #now: () => number
  #prunedAt = 0

  constructor(store: DatabaseStore, repository: string, options: InboxOptions) {
    this.#store = store
    this.#repository = repository
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
        this.#repository
      ]
    }
    const details = detailsOf(message, uuid)
    const [inserted] = await this.#store.batch(details === null ? [insert] : [insert, details])
    const id = inserted?.rows[0]?.[0]
    if (id !== undefined) return { id: Number(id), uuid, repeated: false, timestamp_ms: now }
    const { rows } = await this.#store.query('SELECT id, created_at FROM a2a_messages WHERE message_uuid = ?', [uuid])
    const [first, created] = rows[0] ?? []
    return { id: Number(first), uuid, repeated: true, timestamp_ms: fromSqlTime(String(created)) }
  }

  /**
   * Claims messages of an agent for this consumer in one immediate transaction. Returns them by priority, highest
   * first, then by id. `choose` selects from the first `limit` claimable messages; by default all of them.
   */
  claim(
    agent: number,
    { limit, before }: { readonly limit: number; readonly before?: number | undefined },
    choose: (candidates: readonly MessageCandidate[]) => readonly number[] = candidates =>
      candidates.map(({ id }) => id)
  ): Promise<readonly A2aMessage[]> {
    const now = this.#now()
    const { consumer, leaseMs } = this.#options
    const scope = { receiver: String(agent), repository: this.#repository, consumer, now }
    return this.#store.transaction(async tx => {
      const claimable = await tx.query(
        `SELECT m.id, m.msg_type, m.priority, m.created_at FROM a2a_messages AS m
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
        `SELECT ${COLUMNS} FROM ${JOINED} WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.priority DESC, m.id`,
        [chosen]
      )
      return rowsByName({ columns, rows }).map(toMessage)
    })
  }

  /** Returns whether the agent has an unacknowledged message with that id or UUID. */
  async has(agent: number, message: number | string): Promise<boolean> {
    const { rows } = await this.#store.query(
      `SELECT 1 FROM a2a_messages WHERE ${idCondition(message)} AND receiver_agent = ? AND repository_id = ? AND acknowledged = 0`,
      [message, String(agent), this.#repository]
    )
    return rows.length > 0
  }

  /** Acknowledges a message, even if another consumer has claimed it; false if there is none to acknowledge. */
  async ack(agent: number, message: number | string): Promise<boolean> {
    const now = this.#now()
    const { changes } = await this.#store.execute(
      `UPDATE a2a_messages SET acknowledged = 1, claim_owner = NULL, claim_until_ms = NULL, processed_at_ms = ?
       WHERE ${idCondition(message)} AND receiver_agent = ? AND repository_id = ? AND acknowledged = 0`,
      [now, message, String(agent), this.#repository]
    )
    if (now - this.#prunedAt >= PRUNE_EVERY_MS) await this.#prune(now)
    return changes > 0
  }

  /** Counts the unacknowledged messages of an agent: all, and those whose type is not in `types`. */
  async unread(agent: number, types: readonly string[]): Promise<{ readonly all: number; readonly others: number }> {
    const { rows } = await this.#store.query(
      `SELECT count(*), coalesce(sum(msg_type NOT IN (SELECT value FROM json_each(?))), 0) FROM a2a_messages
       WHERE receiver_agent = ? AND repository_id = ? AND acknowledged = 0`,
      [JSON.stringify(types), String(agent), this.#repository]
    )
    return { all: Number(rows[0]?.[0]), others: Number(rows[0]?.[1]) }
  }

  /** Returns the last messages since a time, oldest first. */
  async history(since: number, limit: number): Promise<readonly A2aMessage[]> {
    const { columns, rows } = await this.#store.query(
      `SELECT ${COLUMNS} FROM ${JOINED} WHERE m.repository_id = ? AND m.created_at >= ? ORDER BY m.id DESC LIMIT ?`,
      [this.#repository, toSqlTime(since), limit]
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
      [id, this.#repository, limit]
    )
    return rowsByName({ columns, rows }).map(toMessage)
  }

  async #prune(now: number): Promise<void> {
    this.#prunedAt = now
    await this.#store.execute(
      'DELETE FROM a2a_messages WHERE repository_id = ? AND acknowledged = 1 AND processed_at_ms < ?',
      [this.#repository, now - this.#options.retentionDays * DAY_MS]
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

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Returns the SQL condition that selects a message by id or UUID. */
function idCondition(message: number | string): string {
  return typeof message === 'number' ? 'id = ?' : 'message_uuid = ?'
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
