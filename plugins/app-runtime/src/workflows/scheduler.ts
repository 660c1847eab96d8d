import { randomUUID } from 'node:crypto'
import type { DatabaseStore } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { nextAttempt, type StoredAddress } from '../actors/actor-store.ts'
import { FIRST_MESSAGES } from '../actors/sql-actor-store.ts'
import type { DueEnd, DueWork } from './durable-runner.ts'
import { ownerOf } from './owner.ts'
import { DUE_RUNS, isFree, NEXT_WAKE } from './sql-workflow-store.ts'
import { DURABLE_TABLES } from './tables.ts'

/** Interval in milliseconds at which the database is checked for work from other processes. */
const POLL_MS = 500

/** Delay before announced work is looked up, in milliseconds: its transaction may not be committed yet. */
const COMMIT_MS = 20

/** Maximum messages of one mailbox that are handled in a row. */
const MAX_MESSAGES_IN_A_ROW = 100

const ENDED_BY_LIMITS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_MEMORY_LIMIT'])

export interface SchedulerOptions {
  readonly store: DatabaseStore
  /** The program that owns the runs and actors. */
  readonly program: string
  readonly log: Logger
  /** Maximum concurrent runs and mailboxes. */
  readonly atOnce: number
  /** Called after the scheduler changed runs in the database. */
  readonly onChange?: () => void
  /** Performs work in a thread. Returns an HTTP status; the body of a 200 is a `DueEnd`. */
  perform(work: DueWork): Promise<{ readonly status: number; readonly body: string }>
}

/**
 * Resumes due runs and handles pending messages while a program is served. All work is stored in the database, so the
 * next process continues it.
 */
export class DurableScheduler {
  readonly #options: SchedulerOptions
  readonly #busy = new Set<string>()
  /** Owners of the running turns. */
  readonly #owners = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #polling: Promise<void> | null = null
  #isWanted = false
  #isClosed = false

  private constructor(options: SchedulerOptions) {
    this.#options = options
  }

  /** Creates missing tables, and starts a scheduler. Throws the errors of the store. */
  static async start(options: SchedulerOptions): Promise<DurableScheduler> {
    await prepareStore(options.store)
    const scheduler = new DurableScheduler(options)
    scheduler.#plan(0)
    return scheduler
  }

  /** Looks for due work soon; called when work was announced. */
  poke(): void {
    this.#plan(COMMIT_MS)
  }

  /** Starts no more work. Running work ends with its thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#polling
  }

  /** Releases the leases of unfinished turns. Call it when all threads have ended. */
  async release(): Promise<void> {
    const { store } = this.#options
    for (const owner of this.#owners) {
      await store.execute('UPDATE workflow_run_log SET lease_until_ms = 0 WHERE lease_owner = ?', [owner])
    }
  }

  #plan(milliseconds: number): void {
    if (this.#isClosed) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#wake(), milliseconds).unref()
  }

  #wake(): void {
    if (this.#polling !== null) {
      this.#isWanted = true
      return
    }
    this.#polling = this.#poll()
      .catch((error: unknown) => {
        this.#options.log.warn('due work could not be read', { error })
        return POLL_MS
      })
      .then(wait => {
        this.#polling = null
        this.#plan(this.#isWanted ? 0 : wait)
        this.#isWanted = false
      })
  }

  /** Starts due work; returns the milliseconds until the next check. */
  async #poll(): Promise<number> {
    const { store, program } = this.#options
    const now = Date.now()
    const runs = await store.query(DUE_RUNS, { program, now })
    for (const [run, holder, until] of runs.rows) {
      if (this.#busy.size >= this.#options.atOnce) return POLL_MS
      if (isFree(holder, until, now)) this.#begin(`run ${run}`, () => this.#turn(String(run)))
    }
    const messages = await store.query(FIRST_MESSAGES, { program })
    let next = now + POLL_MS
    for (const [actor, id, args, notBefore] of messages.rows) {
      if (this.#busy.size >= this.#options.atOnce) return POLL_MS
      const address = { actor: String(actor), id: String(id), args: String(args) }
      if (Number(notBefore) <= now) this.#begin(`mailbox ${actor}/${id}`, () => this.#deliver(address))
      else next = Math.min(next, Number(notBefore))
    }
    const wake = (await store.query(NEXT_WAKE, { program })).rows[0]?.[0]
    if (typeof wake === 'number') next = Math.min(next, wake)
    return Math.max(1, next - Date.now())
  }

  #begin(name: string, work: () => Promise<void>): void {
    if (this.#isClosed || this.#busy.has(name)) return
    this.#busy.add(name)
    work()
      .catch((error: unknown) => this.#options.log.warn(`${name} was not processed`, { error }))
      .finally(() => {
        this.#busy.delete(name)
        this.#options.onChange?.()
        this.#plan(0)
      })
  }

  async #turn(run: string): Promise<void> {
    const owner = ownerOf(randomUUID())
    const { store } = this.#options
    const before = await store.query('SELECT completed_steps FROM workflow_run_log WHERE run_id = ?', [run])
    this.#owners.add(owner)
    const { status, body } = await this.#options.perform({ run, owner })
    this.#owners.delete(owner)
    if (status === 200) return
    const { code = '' } = JSON.parse(body) as { readonly code?: string }
    // The thread has ended, so its lease is released. A run that exceeded a limit without completing a step fails,
    // because it would exceed the limit again.
    const isFinal = ENDED_BY_LIMITS.has(code)
    await store.execute(
      isFinal
        ? `UPDATE workflow_run_log SET last_error = ?, lease_owner = NULL, completed_at_ms = ?,
            status = CASE WHEN completed_steps > ? THEN 'pending' ELSE 'failed' END WHERE run_id = ? AND lease_owner = ?`
        : `UPDATE workflow_run_log SET last_error = ?, lease_until_ms = 0, updated_at_ms = max(updated_at_ms, ?)
            WHERE completed_steps >= ? AND run_id = ? AND lease_owner = ?`,
      [body.slice(0, 2000), Date.now(), before.rows[0]?.[0] ?? 0, run, owner]
    )
  }

  async #deliver(mailbox: StoredAddress): Promise<void> {
    for (let count = 0; count < MAX_MESSAGES_IN_A_ROW && !this.#isClosed; count++) {
      const { status, body } = await this.#options.perform({ mailbox })
      if (status !== 200) return this.#failed(mailbox, body)
      if (!(JSON.parse(body) as DueEnd).more) return
    }
  }

  /** Records a failed attempt if a limit ended the thread. Other causes do not count as attempts. */
  async #failed({ actor, id }: StoredAddress, body: string): Promise<void> {
    const { store, program } = this.#options
    const { code = '', committed } = JSON.parse(body) as { readonly code?: string; readonly committed?: boolean | null }
    // Without `committed`, the thread still runs, and has recorded the failure itself.
    if (!ENDED_BY_LIMITS.has(code) || committed === undefined) return
    await store.transaction(async tx => {
      const { rows } = await tx.query(
        `SELECT id, attempts FROM actor_mailbox WHERE program = ? AND actor = ? AND instance = ?
          AND given_up_at_ms IS NULL ORDER BY id LIMIT 1`,
        [program, actor, id]
      )
      const [message, attempts] = rows[0] ?? []
      const now = Date.now()
      const again = nextAttempt(Number(attempts) + 1, now)
      await tx.execute(
        `UPDATE actor_mailbox SET attempts = attempts + 1, last_error = ?, not_before_ms = ?, given_up_at_ms = ?
          WHERE id = ?`,
        [body.slice(0, 2000), again ?? now, again === null ? now : null, message ?? null]
      )
    })
  }
}

/** Creates missing tables of runs and actors. */
export async function prepareStore(store: DatabaseStore): Promise<void> {
  await store.batch(DURABLE_TABLES)
}
