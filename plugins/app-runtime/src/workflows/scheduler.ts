import { randomUUID } from 'node:crypto'
import { coordinationSql as crd, type DatabaseStore, type ItemToken, type SqlResult } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { nextAttempt, type StoredAddress } from '../actors/actor-store.ts'
import { FIRST_MESSAGES } from '../actors/sql-actor-store.ts'
import { copyMetrics } from './copy-metrics.ts'
import type { DueEnd, DueWork } from './durable-runner.ts'
import { hasEnded, ownerOf } from './owner.ts'
import { queueEarlierRuns } from './queue-earlier-runs.ts'
import { runQueue } from './run-queue.ts'
import { DURABLE_TABLES } from './tables.ts'
import type { ScheduledClaim } from './workflow-store.ts'

/** Interval in milliseconds at which the database is checked for work from other processes. */
const POLL_MS = 500

/** Delay before announced work is looked up, in milliseconds: its transaction may not be committed yet. */
const COMMIT_MS = 20

/** Maximum messages of one mailbox that are handled in a row. */
const MAX_MESSAGES_IN_A_ROW = 100

/** Lease of a claimed run, and the interval at which the leases of all claimed runs are extended, in milliseconds. */
const LEASE_MS = 30_000
const EXTEND_MS = 10_000

/** Interval at which the journal is copied to research_metrics, in milliseconds. */
const COPY_MS = 1_000

/** Runs that are claimed ahead for each concurrent turn, so that one transaction claims several. */
const CLAIMED_AHEAD = 8

const ENDED_BY_LIMITS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_MEMORY_LIMIT'])

export interface SchedulerOptions {
  readonly store: DatabaseStore
  /** The program that owns the runs and actors. */
  readonly program: string
  /** Session of the rows in research_metrics; null to write none. */
  readonly metricSession: string | null
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
 * next process continues it. Runs are items of a queue: a claim reads ready items by an index, and not the runs that wait.
 */
export class DurableScheduler {
  readonly #options: SchedulerOptions
  readonly #queue: string
  /** Names of mailboxes that are handled. */
  readonly #busy = new Set<string>()
  /** Claimed runs, in a thread or waiting for one. */
  readonly #claims = new Set<ScheduledClaim>()
  /** Claimed runs that wait for a thread, in order. */
  readonly #ahead: ScheduledClaim[] = []
  #turns = 0
  #timer: NodeJS.Timeout | null = null
  #polling: Promise<void> | null = null
  readonly #extending: NodeJS.Timeout
  readonly #copying: NodeJS.Timeout
  #copies: Promise<void> | null = null
  /** True if runs have changed since the last copy. */
  #hasChanged = true
  #isWanted = false
  #isClosed = false

  private constructor(options: SchedulerOptions) {
    this.#options = options
    this.#queue = runQueue(options.program)
    this.#extending = setInterval(() => void this.#extend(), EXTEND_MS).unref()
    this.#copying = setInterval(() => void this.#copy(), COPY_MS).unref()
  }

  /** Creates missing tables, and starts a scheduler. Throws the errors of the store. */
  static async start(options: SchedulerOptions): Promise<DurableScheduler> {
    await prepareStore(options.store)
    await queueEarlierRuns(options.store, options.program)
    const scheduler = new DurableScheduler(options)
    scheduler.#plan(0)
    return scheduler
  }

  /** Looks for due work soon; called when work was announced. */
  poke(): void {
    this.#hasChanged = true
    this.#plan(COMMIT_MS)
  }

  /** Called when a run of a caller has changed. */
  noteChange(): void {
    this.#hasChanged = true
  }

  /** Starts no more work. Running work ends with its thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#extending)
    clearInterval(this.#copying)
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#polling
  }

  /** Returns unfinished runs to the queue. Call it when all threads have ended. */
  async release(): Promise<void> {
    await this.#giveBack([...this.#claims])
    this.#claims.clear()
    await this.#copies
    await this.#copy()
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

  get #isFull(): boolean {
    return this.#turns + this.#busy.size >= this.#options.atOnce
  }

  /** Claims and starts due work; returns the milliseconds until the next check. */
  async #poll(): Promise<number> {
    const { store, program, atOnce } = this.#options
    const begun = Date.now()
    let next = begun + POLL_MS
    if (this.#ahead.length < atOnce) {
      const { isReady, nextAt, leased } = await readFrom(store, crd.outlookOf(this.#queue))
      await this.#returnLost(leased)
      if (isReady) await this.#claim(atOnce * CLAIMED_AHEAD - this.#ahead.length)
      else if (nextAt !== null) next = Math.min(next, nextAt)
    }
    this.#startTurns()
    const messages = await store.query(FIRST_MESSAGES, { program })
    for (const [actor, id, args, notBefore] of messages.rows) {
      if (this.#isFull) return POLL_MS
      const address = { actor: String(actor), id: String(id), args: String(args) }
      if (Number(notBefore) <= Date.now()) this.#begin(`mailbox ${actor}/${id}`, () => this.#deliver(address))
      else next = Math.min(next, Number(notBefore))
    }
    return Math.max(1, next - Date.now())
  }

  /** Claims runs: one transaction for all of them, which also marks them as running. */
  async #claim(max: number): Promise<void> {
    const owner = ownerOf(randomUUID())
    const claim = crd.claimItems(this.#queue, owner, { max, leaseMs: LEASE_MS })
    const held = [this.#queue, owner]
    const results = await this.#options.store.batch([
      ...claim.statements,
      { sql: STATUSES_OF_CLAIMED, parameters: held },
      { sql: MARK_CLAIMED, parameters: [...held, Date.now(), LEASE_MS] },
      { sql: CLEAR_WAITS, parameters: held }
    ])
    const items = claim.read(results)
    const statuses = new Map(results[claim.statements.length]?.rows.map(([run, status]) => [String(run), status]))
    for (const { id, fence, body: run } of items) {
      const claimed = { run, owner, token: { id, fence }, wasInterrupted: statuses.get(run) === 'running' }
      this.#claims.add(claimed)
      this.#ahead.push(claimed)
    }
  }

  #startTurns(): void {
    while (!this.#isClosed && !this.#isFull) {
      const claim = this.#ahead.shift()
      if (claim === undefined) return
      this.#turns += 1
      this.#turn(claim)
        .catch((error: unknown) => this.#options.log.warn(`run ${claim.run} was not processed`, { error }))
        .finally(() => {
          this.#turns -= 1
          this.#hasChanged = true
          this.#claims.delete(claim)
          this.#options.onChange?.()
          this.#startTurns()
          if (this.#ahead.length < this.#options.atOnce) this.#plan(0)
        })
    }
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

  async #turn(claim: ScheduledClaim): Promise<void> {
    const { store } = this.#options
    const { run, token } = claim
    const before = await store.query('SELECT completed_steps FROM workflow_run_log WHERE run_id = ?', [run])
    const { status, body } = await this.#options.perform({ claim })
    if (status === 200) return
    const { code = '' } = JSON.parse(body) as { readonly code?: string }
    await store.transaction(async tx => {
      const held = await tx.query(HELD, [token.id, token.fence])
      if (held.rows.length === 0) return
      const steps = await tx.query('SELECT completed_steps FROM workflow_run_log WHERE run_id = ?', [run])
      const hasProgressed = Number(steps.rows[0]?.[0]) > Number(before.rows[0]?.[0] ?? 0)
      // A run that exceeded a limit without completing a step fails, because it would exceed the limit again.
      const hasFailed = ENDED_BY_LIMITS.has(code) && !hasProgressed
      const end = hasFailed
        ? crd.ackItems([{ ...token, freeKey: true }])
        : crd.nackItems([{ ...token, delayMs: 0, error: code }])
      for (const { sql, parameters } of end.statements) await tx.execute(sql, parameters)
      await tx.execute(hasFailed ? FAIL_RUN : RETURN_RUN, [body.slice(0, 2000), Date.now(), run])
    })
  }

  /** Returns runs of processes that have certainly ended: those of this machine are resumed before their lease ends. */
  async #returnLost(leased: crd.QueueOutlook['leased']): Promise<void> {
    const holders = new Map<string, boolean>()
    const isLost = (holder: string): boolean => {
      const known = holders.get(holder) ?? hasEnded(holder)
      holders.set(holder, known)
      return known
    }
    await this.#giveBack(leased.filter(({ holder }) => isLost(holder)).map(token => ({ token })))
  }

  async #giveBack(claims: readonly { readonly token: ItemToken }[]): Promise<void> {
    if (claims.length === 0) return
    const { statements } = crd.nackItems(claims.map(({ token }) => ({ ...token, delayMs: 0 })))
    await this.#options.store.batch(statements)
  }

  async #extend(): Promise<void> {
    const claims = [...this.#claims]
    if (claims.length === 0) return
    const { statements } = crd.extendItems(claims.map(({ token }) => ({ ...token, leaseMs: LEASE_MS })))
    const runs = JSON.stringify(claims.map(({ run }) => run))
    try {
      await this.#options.store.batch([...statements, { sql: SHOW_LEASES, parameters: [Date.now() + LEASE_MS, runs] }])
    } catch (error) {
      this.#options.log.warn('the leases of runs were not extended', { error })
    }
  }

  #copy(): Promise<void> {
    const { store, program, metricSession, log } = this.#options
    if (metricSession === null || !this.#hasChanged || this.#copies !== null) return this.#copies ?? Promise.resolve()
    this.#hasChanged = false
    this.#copies = copyMetrics(store, program, metricSession)
      .then(() => undefined)
      .catch((error: unknown) => {
        this.#hasChanged = true
        log.warn(`the journal of ${program} was not copied to research_metrics`, { error })
      })
      .finally(() => {
        this.#copies = null
      })
    return this.#copies
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

/** The ids of the runs whose items a claim has leased. Parameters: the queue and the owner of the claim. */
const CLAIMED = `SELECT body FROM coord_items WHERE queue = ?1 AND state IN (1, 2) AND state = 1 AND holder = ?2`
const STATUSES_OF_CLAIMED = `SELECT run_id, status FROM workflow_run_log WHERE run_id IN (${CLAIMED})`
const MARK_CLAIMED = `UPDATE workflow_run_log SET status = 'running', lease_owner = ?2, lease_until_ms = ?3 + ?4,
  updated_at_ms = max(updated_at_ms, ?3), last_error = NULL WHERE run_id IN (${CLAIMED})`
const CLEAR_WAITS = `UPDATE workflow_run_state SET wake_at_ms = NULL, waiting_for = NULL WHERE run_id IN (${CLAIMED})`
const SHOW_LEASES = `UPDATE workflow_run_log SET lease_until_ms = ? WHERE status = 'running'
  AND run_id IN (SELECT value FROM json_each(?))`
const HELD = 'SELECT 1 FROM coord_items WHERE id = ? AND fence = ? AND granted = 1'
const FAIL_RUN = `UPDATE workflow_run_log SET status = 'failed', last_error = ?, completed_at_ms = ?, lease_owner = NULL,
  lease_until_ms = NULL WHERE run_id = ?`
/** The run stays in the status running, so that its next turn knows that this one was interrupted. */
const RETURN_RUN = `UPDATE workflow_run_log SET last_error = ?, updated_at_ms = max(updated_at_ms, ?), lease_owner = NULL,
  lease_until_ms = 0 WHERE run_id = ?`

/** Runs a query of the coordination store. */
async function readFrom<A>(store: DatabaseStore, { statements, read }: crd.SqlOperation<A>): Promise<A> {
  const results: SqlResult[] = []
  for (const { sql, parameters } of statements) results.push(await store.query(sql, parameters))
  return read(results)
}

/** Creates missing tables of runs and actors. */
export async function prepareStore(store: DatabaseStore): Promise<void> {
  await store.batch(DURABLE_TABLES)
}
