import { setImmediate as turnEnds } from 'node:timers/promises'
import { type OrchestratorStatus, orchestrationErrors, type SqlStatement } from '@svc/contracts'
import { isSvcError, type Logger, type SvcError } from '@svc/plugin-sdk'
import type { EventBus } from '../events/bus.ts'
import { type LineageSettings, lineageRow } from '../events/lineage.ts'
import type { Settings } from '../settings.ts'
import type { RecordSource, StateChanges, TableRow } from '../state/changes.ts'
import { Answers } from './answers.ts'
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
  /** The seat that the records are under. */
  readonly seat: SeatRow
  readonly source: RecordSource
  /** JSON of the ids that the seat may still give out. */
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
  /** Done before the records, in the same transaction. */
  readonly first: readonly SqlStatement[]
  readonly since: number
  /** Time of the caller's timeout; infinite afterwards, or without a caller. */
  until: number
  /** Whether it has no caller: it joins another transaction. */
  readonly isAhead: boolean
  resolve: () => void
  reject: (error: unknown) => void
}

/** One requested transaction: the number of waiting changes that it took. */
interface Attempt {
  readonly number: number
  readonly count: number
}

const DONE = Promise.resolve()
const NOTHING: ReadonlySet<string> = new Set()
const nobody = (): void => {}
/** Milliseconds that a change without a caller waits for others. */
const AHEAD_MS = 20
/** Statements that check the owner of a transaction. */
const TURN = 2

/**
 * Writes waiting changes together, one transaction at a time. A transaction takes all changes that wait when it
 * starts, and reads their records from the state at that moment. No command runs meanwhile, so this is the effect of
 * exactly these commands. A record changed by ten of them is written once. The first transaction after a pause starts
 * at the end of the event loop turn, with all changes of that turn.
 *
 * After a failure the seat is asked which transaction it had last, since one without an answer may have been done: rows are
 * added once, and a late arrival finds the number gone on and fails.
 */
export class DatabaseCommitter implements Committer {
  readonly #options: CommitterOptions
  readonly #pause = new Pause()
  readonly #waiting: PendingCommit[] = []
  readonly #answers = new Answers<PendingCommit>(each => this.#answer(each))
  /** Records touched by waiting changes, except for those being written, and these. */
  #dirty = new Set<string>()
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
  /** The database file was removed or overwritten: commands are refused until a transaction succeeds again. */
  #fileLost: unknown = null
  #closed = false
  #running: Promise<void> | null = null
  #sweep: NodeJS.Timeout | undefined
  #sweepAt = Number.POSITIVE_INFINITY
  #aheadTimer: NodeJS.Timeout | undefined
  /** Whether changes without a caller have waited long enough. */
  #isDue = false
  /** Whether answered callers will call again by the end of the turn. */
  #isBetterLater = false

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
    this.#add(changes, [], Number.POSITIVE_INFINITY, nobody, nobody)
    if (this.#running === null) this.#armAhead()
    return DONE
  }

  /** A change with extra statements, which run before its records are written. */
  commitWith(changes: StateChanges, first: readonly SqlStatement[]): Promise<void> {
    return this.#take(changes, first, this.#options.settings().commit_timeout_ms)
  }

  assertRoom(): void {
    const { commit_queue_limit } = this.#options.settings()
    if (this.#lost !== null) throw this.#lost
    if (this.#fileLost !== null) throw this.#notDurable('the file of the database is lost')
    if (this.#waiting.length < commit_queue_limit) return
    throw orchestrationErrors.create(
      'ORC_QUEUE_FULL',
      `Queue full: ${this.#waiting.length} changes wait for the database, and ${commit_queue_limit} may${because(this.#failure)}`,
      { hint: 'try again later; svc db status says whether the database answers' }
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

  /** Writes the waiting changes until the deadline, and refuses the rest. Returns how many changes were left. */
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
    this.#answers.giveAll()
    const left = this.#waiting.splice(0)
    for (const each of left) each.reject(this.#notDurable('the orchestrator was closed before'))
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
      isAhead: resolve === nobody,
      resolve,
      reject
    })
  }

  /** Whether a caller waits for a change of the same records. */
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

  /** Callers that timed out, and wait again. */
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
        if (this.#isBetterLater) await turnEnds()
        this.#isBetterLater = false
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
    // Changes without a caller arrived during the last transaction.
    if (this.#waiting.length > 0 && this.#lost === null) this.#armAhead()
  }

  #isWaitedFor(): boolean {
    return this.#waiting.length > 0 && (this.#closed || this.#isDue || this.#waiting.some(({ isAhead }) => !isAhead))
  }

  /** One transaction with all waiting changes. */
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
      if (blamed >= TURN && blamed < TURN + first.length) this.#lose('and another that it has claimed was taken over')
      const failed = own[blamed - statements.length]
      // An answer that says that nothing was done.
      if (failed === undefined) throw error
      this.#open.pop()
      this.#unfit.refused(failed.rows, error)
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
    // After an unanswered transaction they are still there.
    if (this.#waiting.length === 0) this.#dirty.clear()
    this.#isDue = false
    this.#isBetterLater = this.#answers.add(done, this.#waiting.length)
  }

  #answer({ changes, rows, resolve }: PendingCommit): void {
    resolve()
    if (this.#late.size > 0) this.#late.delete(changes)
    this.#unfit.forget(rows)
    if (changes.events.length > 0) this.#options.bus.publish(changes.events)
  }

  /** Finds out whether failed or unanswered transactions were committed. */
  async #settledAfterAll(): Promise<boolean> {
    const { seats, seat } = this.#options
    if (this.#lost !== null) return true
    let row: SeatRow | null
    try {
      row = await seats.look(seat.seat)
    } catch {
      return false
    }
    if (row === null) this.#lose('is gone')
    else if (row.fence !== seat.fence) this.#lose('was taken over')
    else {
      const done = this.#open.find(({ number }) => number === row.committed)
      if (done !== undefined) this.#settle(done)
      else if (row.committed === this.#committed) return false
      else this.#lose('was put back to an earlier state')
    }
    return true
  }

  #lose(why: string): void {
    const { seat, store, onLost, log } = this.#options
    const lost = seatLost(seat.seat, store.location, why)
    this.#lost = lost
    this.#answers.giveAll()
    log.error(lost.message, { pending: this.#waiting.length })
    for (const { reject } of this.#waiting.splice(0)) reject(lost)
    onLost(lost)
  }

  #fail(error: unknown, failures: number): void {
    if (isSvcError(error, 'DBS_FILE_LOST')) this.#fileLost = error
    this.#failing = describeFailure(this.#fileLost ?? error)
    this.#failure = this.#fileLost ?? error
    // A later attempt may succeed if the file is restored; the callers get the error now.
    if (this.#fileLost !== null) this.#rejectLate(() => true)
    if (failures === 1)
      this.#options.log.warn('changes of the orchestrator wait for the database', {
        reason: this.#failing,
        pending: this.#waiting.length
      })
  }

  #notDurable(why: string): SvcError {
    return notDurable(this.#options.store.location, why, this.#failure)
  }

  /** One timer for all: notifies callers that time out; their changes stay. */
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

  /** Rejects those callers; their changes stay. Returns the time of the next timeout. */
  #rejectLate(isLate: (each: PendingCommit) => boolean): number {
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const each of this.#waiting) {
      if (each.until < Number.POSITIVE_INFINITY && isLate(each)) {
        each.reject(this.#notDurable(`it has waited for ${Math.round(now - each.since)} ms`))
        each.until = Number.POSITIVE_INFINITY
        this.#late.set(each.changes, each)
      }
      next = Math.min(next, each.until)
    }
    return next
  }
}
