import { setImmediate as turnEnds } from 'node:timers/promises'
import { type OrchestratorStatus, orchestrationErrors, type SqlStatement } from '@svc/contracts'
import { isSvcError, type Logger, type SvcError } from '@svc/plugin-sdk'
import type { EventBus } from '../events/bus.ts'
import { type LineageSettings, lineageRow } from '../events/lineage.ts'
import type { Settings } from '../settings.ts'
import type { RecordSource, StateChanges, TableRow } from '../state/changes.ts'
import { CallerNotifier } from './caller-notifier.ts'
import type { CommitOptions, Committer } from './committer.ts'
import { because, describeFailure, notDurable, seatLost, statementToBlame } from './failures.ts'
import { Pause } from './pause.ts'
import { recordStatements } from './records.ts'
import { type SeatRow, type Seats, seatTurn } from './seats.ts'
import type { StateStore } from './state-store.ts'
import { UnfitRows } from './unfit-rows.ts'

/** Settings of the section `[orchestrator]` for commits. */
export type CommitSettings = LineageSettings & Pick<Settings, 'commit_timeout_ms' | 'commit_queue_limit'>

export interface CommitterOptions {
  readonly store: StateStore
  readonly repositoryId: string
  readonly seats: Seats
  /** Seat that owns the records. */
  readonly seat: SeatRow
  readonly source: RecordSource
  /** Returns the seat's unused ids as JSON. */
  readonly ids: () => string
  readonly bus: EventBus
  readonly log: Logger
  /** Unix milliseconds. */
  readonly now: () => number
  /** Read for each change. */
  readonly settings: () => CommitSettings
  /** Called once when another process has claimed the seat; this one writes nothing afterwards. */
  readonly onLost: (error: SvcError) => void
}

interface PendingCommit {
  readonly changes: StateChanges
  readonly rows: readonly TableRow[]
  /** Statements that run before the records are written, in the same transaction. */
  readonly first: readonly SqlStatement[]
  readonly since: number
  /** Time of the caller's timeout; infinite once it has passed, or without a caller. */
  until: number
  /** True if it has no caller, and so joins the transaction of another change. */
  readonly isAhead: boolean
  resolve: () => void
  reject: (error: unknown) => void
}

/** A started transaction: its number, and the count of waiting changes that it includes. */
interface Attempt {
  readonly number: number
  readonly count: number
}

const DONE = Promise.resolve()
const NOTHING: ReadonlySet<string> = new Set()
const NO_CALLER = (): void => {}
/** Milliseconds that a change without a caller waits for others. */
const AHEAD_MS = 20
/** Leading statements of a transaction, which check that the process still owns the seat. */
const OWNER_CHECKS = 2

/**
 * Writes waiting changes together, one transaction at a time. A transaction includes all changes that wait when it
 * starts, and reads their records from the state at that moment. No command runs meanwhile, so the records contain the
 * effect of exactly these changes. A record changed ten times is written once. The first transaction after a pause
 * starts at the end of the event loop turn, with all changes of that turn.
 *
 * After a failure, the number of the seat's last transaction is read, since a transaction without a result may have
 * been committed. Each transaction checks the number before it, so rows are added once: a late duplicate fails.
 */
export class DatabaseCommitter implements Committer {
  readonly #options: CommitterOptions
  readonly #pause = new Pause()
  readonly #waiting: PendingCommit[] = []
  readonly #callers = new CallerNotifier<PendingCommit>(each => this.#notify(each))
  /** Records touched by waiting changes that are not being written yet. */
  #dirty = new Set<string>()
  /** Records being written. */
  #writing = NOTHING
  readonly #unfit: UnfitRows
  /** Waiting changes whose callers have timed out. */
  readonly #late = new Map<StateChanges, PendingCommit>()
  #open: Attempt[] = []
  #committed: number
  #attempts: number
  #failing: string | null = null
  #failure: unknown = null
  #lost: SvcError | null = null
  /** Error if the database file was removed or overwritten: commands are rejected until a transaction succeeds again. */
  #fileLost: unknown = null
  #closed = false
  #running: Promise<void> | null = null
  #sweep: NodeJS.Timeout | undefined
  #sweepAt = Number.POSITIVE_INFINITY
  #aheadTimer: NodeJS.Timeout | undefined
  /** True once changes without a caller have waited long enough. */
  #isDue = false
  /** True if notified callers will call again by the end of the turn. */
  #startLater = false

  constructor(options: CommitterOptions) {
    this.#options = options
    this.#unfit = new UnfitRows(options.log)
    this.#committed = options.seat.committed
    this.#attempts = options.seat.committed
  }

  commit(
    changes: StateChanges,
    { waitMs = this.#options.settings().commit_timeout_ms }: CommitOptions = {}
  ): Promise<void> {
    if (changes.isKept) return this.#take(changes, [], waitMs)
    this.#options.bus.publish(changes.events)
    return DONE
  }

  commitAhead(changes: StateChanges): Promise<void> {
    if (!changes.isKept || this.#lost !== null || this.#closed || this.#touchesPending(changes))
      return this.commit(changes)
    this.#add(changes, [], Number.POSITIVE_INFINITY, NO_CALLER, NO_CALLER)
    if (this.#running === null) this.#armAhead()
    return DONE
  }

  /** Commits a change with extra statements, which run before its records are written. */
  commitWith(changes: StateChanges, first: readonly SqlStatement[]): Promise<void> {
    return this.#take(changes, first, this.#options.settings().commit_timeout_ms)
  }

  assertRoom(): void {
    const { commit_queue_limit } = this.#options.settings()
    if (this.#lost !== null) throw this.#lost
    if (this.#fileLost !== null) throw this.#notDurable('the database file is lost')
    if (this.#waiting.length < commit_queue_limit) return
    throw orchestrationErrors.create(
      'ORC_QUEUE_FULL',
      `Queue full: ${this.#waiting.length} changes wait for the database; the limit is ${commit_queue_limit}${because(this.#failure)}`,
      { hint: 'try again later; svc db status shows whether the database responds' }
    )
  }

  status(): OrchestratorStatus['outbox'] {
    const [oldest] = this.#waiting
    return {
      pending: this.#waiting.length,
      oldest_ms: oldest === undefined ? null : Math.round(performance.now() - oldest.since),
      failing: this.#lost?.message ?? this.#failing
    }
  }

  /** Writes waiting changes until the deadline, and rejects the rest. Returns the number of rejected changes. */
  async close(milliseconds: number): Promise<number> {
    this.#closed = true
    this.#pause.end()
    if (this.#waiting.length > 0) this.#begin()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, milliseconds)
    })
    await Promise.race([this.#running, late])
    clearTimeout(timer)
    this.#pause.close()
    clearTimeout(this.#sweep)
    clearTimeout(this.#aheadTimer)
    this.#callers.notifyAll()
    const left = this.#waiting.splice(0)
    for (const each of left) each.reject(this.#notDurable('the orchestrator closed before it was written'))
    return left.length
  }

  #take(changes: StateChanges, first: readonly SqlStatement[], waitMs: number): Promise<void> {
    if (this.#lost !== null) return Promise.reject(this.#lost)
    const late = this.#late.get(changes)
    if (late !== undefined) return this.#rejoin(late, waitMs)
    if (this.#closed)
      return Promise.reject(orchestrationErrors.create('ORC_CLOSED', 'Orchestrator is closed: nothing is written'))
    const promise = new Promise<void>((resolve, reject) => this.#add(changes, first, waitMs, resolve, reject))
    this.#armSweep(waitMs)
    this.#begin()
    return promise
  }

  #add(
    changes: StateChanges,
    first: readonly SqlStatement[],
    waitMs: number,
    resolve: () => void,
    reject: (error: unknown) => void
  ): void {
    const since = performance.now()
    for (const name of changes.records) this.#dirty.add(name)
    this.#waiting.push({
      changes,
      rows: this.#rowsOf(changes),
      first,
      since,
      until: since + waitMs,
      isAhead: resolve === NO_CALLER,
      resolve,
      reject
    })
  }

  /** Returns true if a pending change touches one of the same records. */
  #touchesPending({ records }: StateChanges): boolean {
    for (const name of records) if (this.#dirty.has(name) || this.#writing.has(name)) return true
    return false
  }

  #armAhead(): void {
    this.#aheadTimer ??= setTimeout(() => {
      this.#isDue = true
      this.#begin()
    }, AHEAD_MS).unref()
  }

  #begin(): void {
    clearTimeout(this.#aheadTimer)
    this.#aheadTimer = undefined
    this.#running ??= turnEnds().then(() => this.#run())
  }

  /** Waits again for a change whose caller timed out. */
  #rejoin(late: PendingCommit, waitMs: number): Promise<void> {
    this.#late.delete(late.changes)
    late.until = performance.now() + waitMs
    this.#armSweep(waitMs)
    return new Promise<void>((resolve, reject) => {
      late.resolve = resolve
      late.reject = reject
    })
  }

  #rowsOf({ lineage, rows }: StateChanges): readonly TableRow[] {
    if (lineage.length === 0) return rows
    const { repositoryId, now } = this.#options
    const settings = this.#options.settings()
    const at = now()
    const lineageRows = lineage.map(row => lineageRow(settings, repositoryId, at, row)).filter(row => row !== null)
    return [...lineageRows, ...rows]
  }

  async #run(): Promise<void> {
    for (let failures = 0; this.#isWaitedFor() && this.#lost === null; ) {
      try {
        await this.#attempt()
        if (this.#startLater) await turnEnds()
        this.#startLater = false
        failures = 0
        this.#failing = null
        this.#failure = null
        this.#fileLost = null
      } catch (error) {
        if (await this.#settledAfterAll()) continue
        failures += 1
        this.#fail(error, failures)
        if (!(await this.#pause.wait(failures))) break
      }
    }
    this.#running = null
    // Only changes without a caller are left; they arrived during the last transaction.
    if (this.#waiting.length > 0 && this.#lost === null) this.#armAhead()
  }

  #isWaitedFor(): boolean {
    return this.#waiting.length > 0 && (this.#closed || this.#isDue || this.#waiting.some(({ isAhead }) => !isAhead))
  }

  /** Runs one transaction with all waiting changes. */
  async #attempt(): Promise<void> {
    const { store, repositoryId, seats, seat, source, ids } = this.#options
    const claimed = this.#waiting.length
    const dirty = this.#dirty
    const rows: TableRow[] = []
    const first: SqlStatement[] = []
    for (const { rows: own, first: before } of this.#waiting) {
      rows.push(...own)
      first.push(...before)
    }
    this.#attempts += 1
    const number = this.#attempts
    const statements = [
      ...seatTurn({
        repositoryId,
        seat: seat.seat,
        fence: seat.fence,
        from: this.#committed,
        to: number,
        leaseUntilMs: seats.leaseUntil(),
        ids: ids()
      }),
      ...first,
      ...recordStatements(source, repositoryId, seat.seat, dirty)
    ]
    const own = this.#unfit.statements(rows, repositoryId, seat.seat)
    this.#open.push({ number, count: claimed })
    this.#dirty = new Set()
    this.#writing = dirty
    try {
      await store.batch([...statements, ...own.map(({ statement }) => statement)])
    } catch (error) {
      for (const name of dirty) this.#dirty.add(name)
      const blamed = statementToBlame(error) ?? -1
      if (blamed >= OWNER_CHECKS && blamed < OWNER_CHECKS + first.length)
        this.#lose('and a seat that it had claimed were taken over by another process')
      const failed = own[blamed - statements.length]
      // Unless a row statement failed, the transaction may still have been committed.
      if (failed === undefined) throw error
      this.#open.pop()
      this.#unfit.failed(failed.rows, error)
      return
    } finally {
      this.#writing = NOTHING
    }
    this.#settle({ number, count: claimed })
  }

  #settle({ number, count }: Attempt): void {
    this.#committed = number
    this.#open = []
    const done = this.#waiting.splice(0, count)
    // A transaction without a result leaves its records dirty; if nothing waits, all are written.
    if (this.#waiting.length === 0) this.#dirty.clear()
    this.#isDue = false
    this.#startLater = this.#callers.add(done, this.#waiting.length)
  }

  #notify({ changes, rows, resolve }: PendingCommit): void {
    resolve()
    if (this.#late.size > 0) this.#late.delete(changes)
    this.#unfit.forget(rows)
    this.#options.bus.publishRecords(changes.records)
    if (changes.events.length > 0) this.#options.bus.publish(changes.events)
  }

  /** Returns true if it is settled whether failed transactions were committed, or if the seat is lost. */
  async #settledAfterAll(): Promise<boolean> {
    const { seats, seat } = this.#options
    if (this.#lost !== null) return true
    let row: SeatRow | null
    try {
      row = await seats.look(seat.seat)
    } catch {
      return false
    }
    if (row === null) this.#lose('was deleted')
    else if (row.fence !== seat.fence) this.#lose('was taken over by another process')
    else {
      const done = this.#open.find(({ number }) => number === row.committed)
      if (done !== undefined) this.#settle(done)
      else if (row.committed === this.#committed) return false
      else this.#lose('was restored to an earlier state')
    }
    return true
  }

  #lose(reason: string): void {
    const { seat, store, onLost, log } = this.#options
    const lost = seatLost(seat.seat, store.location, reason)
    this.#lost = lost
    this.#callers.notifyAll()
    log.error(lost.message, { pending: this.#waiting.length })
    for (const { reject } of this.#waiting.splice(0)) reject(lost)
    onLost(lost)
  }

  #fail(error: unknown, failures: number): void {
    if (isSvcError(error, 'DBS_FILE_LOST')) this.#fileLost = error
    this.#failing = describeFailure(this.#fileLost ?? error)
    this.#failure = this.#fileLost ?? error
    // Callers get the error now; a later attempt succeeds if the file is restored.
    if (this.#fileLost !== null) this.#rejectLate(() => true)
    if (failures === 1)
      this.#options.log.warn('orchestrator changes wait for the database', {
        reason: this.#failing,
        pending: this.#waiting.length
      })
  }

  #notDurable(reason: string): SvcError {
    return notDurable(this.#options.store.location, reason, this.#failure)
  }

  /** Sets the one timer that rejects callers at their timeout; their changes stay queued. */
  #armSweep(waitMs: number): void {
    const at = performance.now() + waitMs
    if (at >= this.#sweepAt) return
    clearTimeout(this.#sweep)
    this.#sweepAt = at
    this.#sweep = setTimeout(() => this.#sweepLate(), waitMs)
    this.#sweep.unref()
  }

  #sweepLate(): void {
    this.#sweepAt = Number.POSITIVE_INFINITY
    const now = performance.now()
    const next = this.#rejectLate(({ until }) => until <= now)
    if (next < Number.POSITIVE_INFINITY) this.#armSweep(Math.ceil(next - now))
  }

  /** Rejects callers for which `isLate` is true; their changes stay queued. Returns the time of the next timeout. */
  #rejectLate(isLate: (each: PendingCommit) => boolean): number {
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const each of this.#waiting) {
      if (each.until < Number.POSITIVE_INFINITY && isLate(each)) {
        each.reject(this.#notDurable(`it is still waiting after ${Math.round(now - each.since)} ms`))
        each.until = Number.POSITIVE_INFINITY
        this.#late.set(each.changes, each)
      }
      next = Math.min(next, each.until)
    }
    return next
  }
}
