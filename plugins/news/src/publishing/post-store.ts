import {
  type DatabaseTransaction,
  ownIdentity,
  type Presence,
  type ProcessIdentity,
  presenceOf,
  type RemoteExchange
} from '@svc/contracts'
import { newsErrors } from '../errors.ts'
import { attemptKeyOf } from './compose.ts'
import { type Claim, type PostEvent, type PostFailure, type PostKey, type PostRecord, recordOf } from './post-record.ts'
import { changeIn, type Row, rowsIn, type Tables } from './tables.ts'

export const LEASE_MS = 60_000
/** Further time after the lease of a process whose state is unknown, such as one of another machine. */
const GRACE_MS = 2 * LEASE_MS

/** Due posts that are read at once, those that other processes send included. */
const MAX_DUE_ROWS = 1_000

const WHERE = 'news_id = ? AND content_sha3_256 = ? AND channel = ?'
/** The texts of a thread are at most 64 Ki characters, with up to 6 bytes each as JSON. */
const MAX_CHECKPOINT_BYTES = 512 * 1024

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  /** The same digest was sent. */
  | { readonly kind: 'sent'; readonly record: PostRecord }
  /** Another digest of the item was sent. */
  | { readonly kind: 'other-sent'; readonly record: PostRecord }
  /** This digest, or another one, may have been sent; a person decides. */
  | { readonly kind: 'unknown'; readonly record: PostRecord }
  | { readonly kind: 'busy' }
  | { readonly kind: 'waiting'; readonly record: PostRecord }
  /** Attempts were made, and none was wanted then. */
  | { readonly kind: 'tried'; readonly record: PostRecord }

export interface ClaimOptions {
  /** Claims although another digest was sent. */
  readonly again: boolean
  /** Begins a new series of attempts. */
  readonly restart: boolean
  /** Claims only a post without attempts. */
  readonly untried?: boolean
}

export interface PostStoreOptions {
  readonly tables: Tables
  readonly now?: () => number
  /** Identity of this process. */
  readonly identity?: ProcessIdentity
  readonly presence?: (identity: ProcessIdentity) => Presence
}

/**
 * Posts in the database. All methods that change a claimed post throw `NEWS_PLACE_LOST` if another process has claimed
 * it since.
 */
export class PostStore {
  readonly #tables: Tables
  readonly #now: () => number
  readonly #presence: (identity: ProcessIdentity) => Presence
  readonly #identity: ProcessIdentity
  readonly #owner: string
  /** Claims that this object returned and that have not ended, by {@link textOf}. */
  readonly #active = new Set<string>()

  constructor({ tables, now = Date.now, identity = ownIdentity(), presence = presenceOf }: PostStoreOptions) {
    this.#tables = tables
    this.#now = now
    this.#presence = presence
    this.#identity = identity
    this.#owner = JSON.stringify({ ...identity, id: crypto.randomUUID() })
  }

  /** False without a database: all other members then throw `NEWS_DATABASE_MISSING`. */
  get isAvailable(): boolean {
    return this.#tables.isAvailable
  }

  /** Claims a post, unless it or another digest was sent or may have been sent. */
  claim(key: PostKey, { again, restart, untried = false }: ClaimOptions): Promise<ClaimResult> {
    return this.#tables.write(async tx => {
      const now = this.#now()
      await changeIn(
        tx,
        `INSERT INTO published_news (news_id, content_sha3_256, channel, attempt_key, state, created_at_ms, updated_at_ms)
         VALUES (?, ?, ?, ?, 'ready', ?, ?) ON CONFLICT DO NOTHING`,
        [key.newsId, key.digest, key.channel, attemptKeyOf(key.digest, key.channel), now, now]
      )
      const rows = await rowsIn(tx, 'SELECT * FROM published_news WHERE news_id = ? AND channel = ?', [
        key.newsId,
        key.channel
      ])
      const own = rows.find(row => row.content_sha3_256 === key.digest)
      if (own === undefined) throw new Error('the inserted row is missing')
      const record = recordOf(own)
      if (record.state === 'sent') return { kind: 'sent', record }
      const others = rows.filter(row => row !== own)
      if (others.some(row => row.state === 'sending' && this.#isHeld(row, now))) return { kind: 'busy' }
      const records = others.map(recordOf)
      const open = records.find(({ state, mayExist }) => state === 'unknown' || (state !== 'sent' && mayExist))
      if (open !== undefined) return { kind: 'unknown', record: await this.#open(tx, open) }
      const sent = records.find(({ state }) => state === 'sent')
      if (sent !== undefined && !again) return { kind: 'other-sent', record: sent }
      if (record.state === 'unknown') return { kind: 'unknown', record }
      if (this.#isHeld(own, now)) return { kind: 'busy' }
      if (untried && record.attempts > 0) return { kind: 'tried', record }
      if (record.nextRetryAtMs !== null && record.nextRetryAtMs > now) return { kind: 'waiting', record }
      const fence = Number(own.fence) + 1
      this.#active.add(textOf(key))
      const attempts = restart ? 0 : record.attempts
      await changeIn(
        tx,
        `UPDATE published_news SET fence = ?, lock_owner = ?, lock_expires_at_ms = ?, attempts = ?,
           next_retry_at_ms = NULL, updated_at_ms = ? WHERE ${WHERE}`,
        [fence, this.#owner, now + LEASE_MS, attempts, now, ...keyOf(key)]
      )
      return { kind: 'claimed', claim: { ...record, attempts, nextRetryAtMs: null, fence, owner: this.#owner } }
    })
  }

  /** Makes the intent durable: from now on the post may exist. Returns the claim to send with. */
  begin(claim: Claim): Promise<Claim> {
    return this.#change(claim, async tx => {
      const next = { ...claim, state: 'sending' as const, attempts: claim.attempts + 1 }
      await this.#set(tx, claim, "state = 'sending', may_exist = 1, attempts = ?", [next.attempts])
      await this.#event(tx, claim, 'started', { attempt: next.attempts, repeats: claim.mayExist })
      return next
    })
  }

  /** Reverts {@link PostStore.begin}, since nothing was sent. `before`: the claim before it. */
  cancel(claim: Claim, before: Claim): Promise<Claim> {
    return this.#change(claim, async tx => {
      const { state, mayExist, attempts } = before
      await this.#set(tx, claim, 'state = ?, may_exist = ?, attempts = ?', [state, mayExist, attempts])
      await this.#event(tx, claim, 'cancelled', { attempt: claim.attempts })
      return { ...claim, state, mayExist, attempts }
    })
  }

  /** Extends the lease. */
  renew(claim: Claim): Promise<void> {
    return this.#change(claim, async () => undefined)
  }

  saveCheckpoint(claim: Claim, checkpoint: Readonly<Record<string, unknown>>): Promise<void> {
    const json = JSON.stringify(checkpoint)
    if (Buffer.byteLength(json) > MAX_CHECKPOINT_BYTES) {
      throw new Error(`the checkpoint of ${claim.channel} is larger than ${MAX_CHECKPOINT_BYTES} bytes`)
    }
    return this.#change(claim, tx => this.#set(tx, claim, 'checkpoint_json = ?', [json]))
  }

  /** Records success. The event waits to be copied to the publication. */
  succeed(claim: Claim, receipt: { readonly externalId: string; readonly url?: string }): Promise<void> {
    return this.#change(claim, async tx => {
      await this.#set(
        tx,
        claim,
        `state = 'sent', may_exist = 0, external_id = ?, url = ?, failure_json = NULL, next_retry_at_ms = NULL, ${FREE}`,
        [receipt.externalId, receipt.url ?? null]
      )
      const detail = { external_id: receipt.externalId, url: receipt.url ?? null, attempt: claim.attempts }
      await this.#event(tx, claim, 'sent', detail, false)
    })
  }

  /** Records a failed attempt, and keeps the claim. `isOpen`: the attempt may have had its effect. */
  fail(claim: Claim, failure: PostFailure, isOpen: boolean): Promise<Claim> {
    return this.#change(claim, async tx => {
      const mayExist = claim.mayExist || isOpen
      await this.#set(tx, claim, 'may_exist = ?, state = ?, failure_json = ?', [
        mayExist,
        mayExist ? 'sending' : 'ready',
        JSON.stringify(failure)
      ])
      await this.#event(tx, claim, 'failed', { ...failure, attempt: claim.attempts, outcome_unknown: mayExist }, false)
      return { ...claim, mayExist, failure, state: mayExist ? 'sending' : 'ready' }
    })
  }

  /** Leaves the outcome to a person, and ends the claim. */
  leaveOpen(claim: Claim, failure: PostFailure): Promise<void> {
    return this.#change(claim, async tx => {
      await this.#set(tx, claim, `state = 'unknown', may_exist = 1, failure_json = ?, ${FREE}`, [
        JSON.stringify(failure)
      ])
      await this.#event(tx, claim, 'unknown', { ...failure, attempt: claim.attempts }, false)
    })
  }

  /** Plans the next attempt of a claimed post. */
  plan(claim: Claim, nextRetryAtMs: number): Promise<void> {
    return this.#change(claim, tx => this.#set(tx, claim, 'next_retry_at_ms = ?', [nextRetryAtMs]))
  }

  /** Ends a claim, if it has not ended. `dueMs`: when the post is due, if that changes. */
  async release(claim: Claim, dueMs?: number): Promise<void> {
    this.#active.delete(textOf(claim))
    const due = dueMs === undefined ? '' : ', next_retry_at_ms = ?'
    await this.#tables.write(tx =>
      changeIn(tx, `UPDATE published_news SET ${FREE}${due} WHERE ${WHERE} AND fence = ? AND lock_owner = ?`, [
        ...(dueMs === undefined ? [] : [dueMs]),
        ...keyOf(claim),
        claim.fence,
        claim.owner
      ])
    )
  }

  /** Records hashes of requests. Paths are left out, since those of some services contain a token. */
  async recordExchanges(claim: Claim, exchanges: readonly RemoteExchange[]): Promise<void> {
    if (exchanges.length === 0) return
    await this.#tables.write(async tx => {
      for (const { url, ...exchange } of exchanges)
        await this.#event(tx, claim, 'exchange', { ...exchange, origin: new URL(url).origin })
    })
  }

  /**
   * Closes an open outcome. `externalId`: the post exists; null: it does not, and may be sent. Throws
   * `NEWS_RESOLVE_REFUSED`.
   */
  resolve(newsId: string, channel: string, externalId: string | null): Promise<PostRecord> {
    return this.#tables.write(async tx => {
      const rows = await rowsIn(
        tx,
        'SELECT * FROM published_news WHERE news_id = ? AND channel = ? ORDER BY updated_at_ms',
        [newsId, channel]
      )
      const now = this.#now()
      const open = rows.find(
        row => row.state === 'unknown' || (row.state !== 'sent' && row.may_exist !== 0 && !this.#isHeld(row, now))
      )
      if (open === undefined) {
        const found = rows.length === 0 ? 'nothing was sent' : `its state is ${String(rows.at(-1)?.state)}`
        throw newsErrors.create('NEWS_RESOLVE_REFUSED', `${newsId} on ${channel}: the outcome is not open; ${found}`, {
          hint: `svc news status ${newsId}`
        })
      }
      const record = recordOf(open)
      const isSent = externalId !== null
      await this.#set(
        tx,
        record,
        `state = ?, may_exist = ?, external_id = ?, checkpoint_json = NULL, failure_json = NULL,
         next_retry_at_ms = NULL, attempts = 0, fence = fence + 1, ${FREE}`,
        [isSent ? 'sent' : 'ready', false, externalId]
      )
      await this.#event(tx, record, isSent ? 'resolved_sent' : 'resolved_not_sent', { external_id: externalId }, false)
      return { ...record, state: isSent ? 'sent' : 'ready', externalId }
    })
  }

  /** Returns posts, newest first. */
  async list(newsId: string | null, limit: number): Promise<readonly PostRecord[]> {
    const where = newsId === null ? '' : 'WHERE news_id = ?'
    const rows = await this.#tables.rows(
      `SELECT * FROM published_news ${where} ORDER BY updated_at_ms DESC, channel LIMIT ?`,
      newsId === null ? [limit] : [newsId, limit]
    )
    return rows.map(recordOf)
  }

  /** Returns posts whose outcome a person decides. */
  async open(limit: number): Promise<readonly PostRecord[]> {
    const rows = await this.#tables.rows(
      `SELECT * FROM published_news WHERE state = 'unknown'
         OR (state = 'sending' AND lock_owner IS NULL AND next_retry_at_ms IS NULL)
       ORDER BY updated_at_ms LIMIT ?`,
      [limit]
    )
    return rows.map(recordOf)
  }

  /** Returns posts whose next attempt is due, and those whose process ended. */
  async due(limit: number): Promise<readonly PostRecord[]> {
    const now = this.#now()
    const rows = await this.#tables.rows(
      `SELECT * FROM published_news
       WHERE state IN ('ready', 'sending') AND (next_retry_at_ms <= ? OR (state = 'sending' AND lock_owner IS NOT NULL))
       ORDER BY next_retry_at_ms LIMIT ${MAX_DUE_ROWS}`,
      [now]
    )
    return rows
      .filter(row => !this.#isHeld(row, now))
      .slice(0, limit)
      .map(recordOf)
  }

  /** Plans a due post again, and ends the claim of a process that ended: the post may not be sent now. */
  postpone(key: PostKey, nextRetryAtMs: number): Promise<void> {
    return this.#changeDue(key, 'next_retry_at_ms = max(coalesce(next_retry_at_ms, 0), ?)', [nextRetryAtMs])
  }

  /** Ends the plan of further attempts, and the claim of a process that ended: the text of the post has changed. */
  abandon(key: PostKey): Promise<void> {
    return this.#changeDue(key, 'next_retry_at_ms = NULL', [])
  }

  /** Changes a post that has a plan or whose process ended, unless a process may send it. */
  async #changeDue(key: PostKey, assignments: string, values: readonly number[]): Promise<void> {
    await this.#tables.write(async tx => {
      const [row] = await rowsIn(tx, `SELECT * FROM published_news WHERE ${WHERE}`, keyOf(key))
      if (row === undefined || this.#isHeld(row, this.#now())) return
      if (row.lock_owner === null && row.next_retry_at_ms === null) return
      await changeIn(tx, `UPDATE published_news SET ${assignments}, ${FREE} WHERE ${WHERE}`, [...values, ...keyOf(key)])
    })
  }

  async events(newsId: string, limit: number): Promise<readonly PostEvent[]> {
    const rows = await this.#tables.rows(
      'SELECT * FROM syndication_events WHERE news_id = ? ORDER BY id DESC LIMIT ?',
      [newsId, limit]
    )
    return rows.map(row => ({
      news_id: String(row.news_id),
      content_sha3_256: String(row.content_sha3_256),
      channel: String(row.channel),
      event: String(row.event),
      detail: JSON.parse(String(row.detail_json)) as Readonly<Record<string, unknown>>,
      at_ms: Number(row.at_ms)
    }))
  }

  /** Passes events that were not copied yet, and marks each after `copy` resolves. */
  async copyEvents(copy: (event: PostEvent) => Promise<void>): Promise<void> {
    const rows = await this.#tables.rows('SELECT * FROM syndication_events WHERE recorded = 0 ORDER BY id LIMIT 500')
    for (const row of rows) {
      await copy({
        news_id: String(row.news_id),
        content_sha3_256: String(row.content_sha3_256),
        channel: String(row.channel),
        event: String(row.event),
        detail: JSON.parse(String(row.detail_json)) as Readonly<Record<string, unknown>>,
        at_ms: Number(row.at_ms)
      })
      await this.#tables.write(tx =>
        changeIn(tx, 'UPDATE syndication_events SET recorded = 1 WHERE id = ?', [row.id ?? 0])
      )
    }
  }

  /** Runs a change of a claimed post and extends the lease, in one transaction. */
  #change<A>(claim: Claim, run: (tx: DatabaseTransaction) => Promise<A>): Promise<A> {
    return this.#tables.write(async tx => {
      const now = this.#now()
      const changed = await changeIn(
        tx,
        `UPDATE published_news SET lock_expires_at_ms = ?, updated_at_ms = ? WHERE ${WHERE} AND fence = ? AND lock_owner = ?`,
        [now + LEASE_MS, now, ...keyOf(claim), claim.fence, claim.owner]
      )
      if (changed !== 1) {
        throw newsErrors.create(
          'NEWS_PLACE_LOST',
          `${claim.newsId} on ${claim.channel}: another process has claimed the post`,
          { hint: `svc news status ${claim.newsId}` }
        )
      }
      return run(tx)
    })
  }

  async #set(
    tx: DatabaseTransaction,
    key: PostKey,
    assignments: string,
    values: readonly (string | number | boolean | null)[]
  ): Promise<void> {
    await changeIn(tx, `UPDATE published_news SET ${assignments}, updated_at_ms = ? WHERE ${WHERE}`, [
      ...values,
      this.#now(),
      ...keyOf(key)
    ])
  }

  async #event(
    tx: DatabaseTransaction,
    key: PostKey,
    event: string,
    detail: Readonly<Record<string, unknown>>,
    recorded = true
  ): Promise<void> {
    await changeIn(
      tx,
      `INSERT INTO syndication_events (news_id, content_sha3_256, channel, event, detail_json, recorded, at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      [...keyOf(key), event, JSON.stringify(detail), recorded, this.#now()]
    )
  }

  /** Marks an earlier digest that may have been sent as open. */
  async #open(tx: DatabaseTransaction, record: PostRecord): Promise<PostRecord> {
    if (record.state === 'unknown') return record
    const failure: PostFailure = {
      code: 'outcome_unknown',
      message: 'the text changed before it was known whether the earlier one was sent',
      failure_class: 'fatal',
      retryable: false
    }
    await this.#set(tx, record, `state = 'unknown', failure_json = ?, next_retry_at_ms = NULL, ${FREE}`, [
      JSON.stringify(failure)
    ])
    await this.#event(tx, record, 'unknown', { ...failure }, false)
    return { ...record, state: 'unknown', failure }
  }

  /** Returns whether a process may still send the post. */
  #isHeld(row: Row, now: number): boolean {
    if (row.lock_owner === null) return false
    if (row.lock_owner === this.#owner) return this.#active.has(textOf(recordOf(row)))
    const owner = JSON.parse(String(row.lock_owner)) as ProcessIdentity
    const presence = this.#presence(owner)
    // An earlier instance of the plugin in this process extends the lease as long as it sends.
    if (presence === 'unknown' || isSameProcess(owner, this.#identity))
      return now < Number(row.lock_expires_at_ms) + GRACE_MS
    return presence === 'alive'
  }
}

function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.host === b.host && a.pid === b.pid && a.start === b.start
}

/** Assignments that end a claim. */
const FREE = 'lock_owner = NULL, lock_expires_at_ms = NULL'

function textOf({ newsId, digest, channel }: PostKey): string {
  return JSON.stringify([newsId, digest, channel])
}

function keyOf({ newsId, digest, channel }: PostKey): [string, string, string] {
  return [newsId, digest, channel]
}
