import { coordinationSql as crd, type DatabaseStore, type SharedWorkflowRuns } from '@svc/contracts'
import { defined, type Logger } from '@svc/plugin-sdk'
import { nextAttempt, type StoredAddress } from '../actors/actor-store.ts'
import { type ClaimedEntry, ClaimedQueue } from './claimed-queue.ts'
import { copyMetrics } from './copy-metrics.ts'
import type { DueEnd, DueWork } from './durable-runner.ts'
import { queueEarlierWork } from './queue-earlier-work.ts'
import { forwardStarts } from './run-outbox.ts'
import { mailboxQueue, runQueue } from './run-queue.ts'
import { SharedQueue } from './shared-queue.ts'
import { DURABLE_TABLES } from './tables.ts'
import type { ScheduledClaim } from './workflow-store.ts'

/** Interval in milliseconds at which the database is checked for work from other processes. */
const POLL_MS = 500

/** Delay before announced work is looked up, in milliseconds: its transaction may not be committed yet. */
const COMMIT_MS = 20

/** Maximum messages of one mailbox that are handled in a row. */
const MAX_MESSAGES_IN_A_ROW = 100

/** Interval at which the leases of all claimed items are extended, in milliseconds. */
const EXTEND_MS = 10_000

/** Interval at which the journal is copied to research_metrics, in milliseconds. */
const COPY_MS = 1_000

/** Items that are claimed ahead for each concurrent turn, so that one transaction claims several. */
const CLAIMED_AHEAD = 8

const ENDED_BY_LIMITS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_MEMORY_LIMIT'])

export interface SchedulerOptions {
  readonly store: DatabaseStore
  /** Runs on a server that other hosts share; null: they are in `store`. */
  readonly shared?: SharedWorkflowRuns | null
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

interface ClaimedRun extends ClaimedEntry, Pick<ScheduledClaim, 'wasInterrupted' | 'fresh'> {
  /** Steps that were complete when the run was claimed, if that is known. */
  readonly completedSteps?: number
}

/**
 * Resumes due runs and handles pending messages while a program is served. All work is stored in the database, so the
 * next process continues it. Runs, and mailboxes with messages, are items of queues: a claim reads ready items by an
 * index, and not those that wait.
 */
export class DurableScheduler {
  readonly #options: SchedulerOptions
  readonly #runs: ClaimedQueue<ClaimedRun> | SharedQueue<ClaimedRun>
  readonly #mailboxes: ClaimedQueue<ClaimedEntry>
  /** Runs and mailboxes that are in a thread. */
  #busy = 0
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
    const { store, program } = options
    const queue = runQueue(program)
    this.#options = options
    const { shared = null } = options
    this.#runs = shared === null ? claimedRuns(store, queue) : sharedRuns(shared, program)
    this.#mailboxes = new ClaimedQueue(store, mailboxQueue(program), { alongside: () => [], entry: claimed => claimed })
    this.#extending = setInterval(() => void this.#extend(), EXTEND_MS).unref()
    this.#copying = setInterval(() => void this.#copy(), COPY_MS).unref()
  }

  /** Creates missing tables, and starts a scheduler. Throws the errors of the store. */
  static async start(options: SchedulerOptions): Promise<DurableScheduler> {
    await prepareStore(options.store)
    await queueEarlierWork(options.store, options.program)
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

  /** Returns unfinished work to the queues. Call it when all threads have ended. */
  async release(): Promise<void> {
    const ends = await Promise.allSettled([this.#runs.release(), this.#mailboxes.release()])
    await this.#copies
    await this.#copy()
    for (const end of ends) if (end.status === 'rejected') throw end.reason
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

  /** Claims and starts due work; returns the milliseconds until the next check. */
  async #poll(): Promise<number> {
    const { atOnce, store, shared = null, program, log } = this.#options
    let next = Date.now() + POLL_MS
    const failures: unknown[] = []
    if (shared !== null)
      await forwardStarts({ store, shared, program, log }).catch((error: unknown) => failures.push(error))
    for (const queue of [this.#runs, this.#mailboxes]) {
      if (queue.ahead.length >= atOnce) continue
      try {
        const { isReady, nextAt } = await queue.look()
        if (isReady) await queue.claim(atOnce * CLAIMED_AHEAD - queue.ahead.length)
        else if (nextAt !== null) next = Math.min(next, nextAt)
      } catch (error) {
        // The runs may be on another server than the mailboxes.
        failures.push(error)
      }
    }
    this.#startWork()
    if (failures.length > 0) throw failures[0]
    return Math.max(1, next - Date.now())
  }

  #startWork(): void {
    // Runs and mailboxes alternate, so that neither waits for all of the other.
    for (let isRun = true; !this.#isClosed && this.#busy < this.#options.atOnce; isRun = !isRun) {
      const hasStarted = isRun ? this.#startRun() : this.#startMailbox()
      if (!hasStarted && this.#runs.ahead.length + this.#mailboxes.ahead.length === 0) return
    }
  }

  #startRun(): boolean {
    const run = this.#runs.ahead.shift()
    if (run !== undefined) this.#begin(this.#runs, run, `run ${run.body}`, () => this.#turn(run))
    return run !== undefined
  }

  #startMailbox(): boolean {
    const mailbox = this.#mailboxes.ahead.shift()
    if (mailbox !== undefined)
      this.#begin(this.#mailboxes, mailbox, `mailbox ${mailbox.body}`, () => this.#deliverAll(mailbox))
    return mailbox !== undefined
  }

  #begin<Entry extends ClaimedEntry>(
    queue: { readonly ahead: readonly Entry[]; drop(entry: Entry): void },
    entry: Entry,
    name: string,
    work: () => Promise<void>
  ): void {
    this.#busy += 1
    work()
      .catch((error: unknown) => this.#options.log.warn(`${name} was not processed`, { error }))
      .finally(() => {
        this.#busy -= 1
        queue.drop(entry)
        this.#hasChanged = true
        this.#options.onChange?.()
        this.#startWork()
        if (queue.ahead.length < this.#options.atOnce) this.#plan(0)
      })
  }

  async #turn({ body: run, owner, token, wasInterrupted, fresh, completedSteps = 0 }: ClaimedRun): Promise<void> {
    const { store, shared = null } = this.#options
    const claim: ScheduledClaim = { run, owner, token, wasInterrupted, ...defined({ fresh }) }
    if (shared !== null) return this.#sharedTurn(shared, claim, completedSteps)
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

  async #sharedTurn(shared: SharedWorkflowRuns, claim: ScheduledClaim, completedBefore: number): Promise<void> {
    const { run, token } = claim
    const { status, body } = await this.#options.perform({ claim })
    if (status === 200) return
    const { code = '' } = JSON.parse(body) as { readonly code?: string }
    const after = await shared.find(run)
    const hasProgressed = (after?.completedSteps ?? 0) > completedBefore
    // A run that exceeded a limit without completing a step fails, because it would exceed the limit again.
    const fails = ENDED_BY_LIMITS.has(code) && !hasProgressed
    await shared.interrupted(run, token, { error: body.slice(0, 2000), fails, now: Date.now() })
  }

  async #extend(): Promise<void> {
    const showLeases = (held: readonly ClaimedRun[], until: number) => [
      { sql: SHOW_LEASES, parameters: [until, JSON.stringify(held.map(({ body }) => body))] }
    ]
    const warn = (error: unknown): void =>
      this.#options.log.warn('the leases of claimed work were not extended', { error })
    await Promise.all([this.#runs.extend(showLeases).catch(warn), this.#mailboxes.extend().catch(warn)])
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

  /** Handles the messages of a mailbox. Its item is removed once there are none. */
  async #deliverAll({ body, token }: ClaimedEntry): Promise<void> {
    const mailbox = JSON.parse(body) as StoredAddress
    try {
      await this.#deliver(mailbox)
    } finally {
      const { store, program } = this.#options
      await store.transaction(async tx => {
        const { rows } = await tx.query(FIRST_MESSAGE, [program, mailbox.actor, mailbox.id])
        const dueAt = rows[0]?.[2]
        const end =
          dueAt === undefined
            ? crd.ackItems([{ ...token, freeKey: true }])
            : crd.nackItems([{ ...token, delayMs: Math.max(0, Number(dueAt) - Date.now()) }])
        for (const { sql, parameters } of end.statements) await tx.execute(sql, parameters)
      })
    }
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
      const { rows } = await tx.query(FIRST_MESSAGE, [program, actor, id])
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

/** Returns the queue of the runs on a server that hosts share. */
function sharedRuns(runs: SharedWorkflowRuns, program: string): SharedQueue<ClaimedRun> {
  return new SharedQueue(runs, {
    outlook: () => runs.outlook(program),
    async claim(owner, options) {
      const claimed = await runs.claimReady(program, owner, options)
      return claimed.map(({ runId, ...rest }) => ({ body: runId, owner, ...rest }))
    }
  })
}

/** Returns the queue of the runs in a database. The first change of a turn marks its run as running. */
function claimedRuns(store: DatabaseStore, queue: string): ClaimedQueue<ClaimedRun> {
  return new ClaimedQueue(store, queue, {
    alongside: owner => [{ sql: STATUSES_OF_CLAIMED, parameters: [queue, owner] }],
    entry: (claimed, [statuses]) => {
      const wasInterrupted = statuses?.rows.some(([run, status]) => run === claimed.body && status === 'running')
      return { ...claimed, wasInterrupted: wasInterrupted === true }
    }
  })
}

/** The statuses of the runs whose items a claim has leased. Parameters: the queue and the owner of the claim. */
const STATUSES_OF_CLAIMED = `SELECT run_id, status FROM workflow_run_log WHERE run_id IN (
  SELECT body FROM coord_items WHERE queue = ?1 AND state IN (1, 2) AND state = 1 AND holder = ?2)`
const SHOW_LEASES = `UPDATE workflow_run_log SET lease_until_ms = ? WHERE status = 'running'
  AND run_id IN (SELECT value FROM json_each(?))`
const HELD = 'SELECT 1 FROM coord_items WHERE id = ? AND fence = ? AND granted = 1'
const FAIL_RUN = `UPDATE workflow_run_log SET status = 'failed', last_error = ?, completed_at_ms = ?, lease_owner = NULL,
  lease_until_ms = NULL WHERE run_id = ?`
/** The run stays in the status running, so that its next turn knows that this one was interrupted. */
const RETURN_RUN = `UPDATE workflow_run_log SET last_error = ?, updated_at_ms = max(updated_at_ms, ?), lease_owner = NULL,
  lease_until_ms = 0 WHERE run_id = ?`
/** The oldest message of a mailbox: id, failed attempts, when it is due. */
const FIRST_MESSAGE = `SELECT id, attempts, not_before_ms FROM actor_mailbox WHERE program = ? AND actor = ?
  AND instance = ? AND given_up_at_ms IS NULL ORDER BY id LIMIT 1`

/** Creates missing tables of runs and actors. */
export async function prepareStore(store: DatabaseStore): Promise<void> {
  await store.batch(DURABLE_TABLES)
}
