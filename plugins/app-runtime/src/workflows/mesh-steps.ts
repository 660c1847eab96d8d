import { randomUUID } from 'node:crypto'
import {
  coordinationSql as crd,
  type DatabaseStore,
  type MeshActivities,
  type MeshActivityOutcome,
  type MeshActivityRequest,
  type MeshStatus
} from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { type ClaimedEntry, ClaimedQueue } from './claimed-queue.ts'
import { meshQueue, runQueue } from './run-queue.ts'

/** Prefix of the signals with which the mesh answers a step. Others cannot send them. */
export const MESH_SIGNAL = 'svc.mesh:'

/** Interval in milliseconds at which the database is checked for steps of processes that have ended. */
const POLL_MS = 1_000
/** Interval in milliseconds at which leases are extended, and steps that no run waits for are aborted. */
const EXTEND_MS = 10_000
/** Name of the random id of this database, which distinguishes its runs from those of other databases in the mesh. */
const DATABASE_ID = 'workflow.mesh-id'
/** Maximum steps that one transaction claims. */
const MAX_CLAIMED = 100

/** A step of a run that the mesh shall do. */
export interface MeshStep extends Omit<MeshActivityRequest, 'key' | 'timeoutMs'> {
  readonly runId: string
  /** Signal that the run waits for. Each attempt has its own, also after a reset. */
  readonly signal: string
  /** End of the attempt in Unix milliseconds. */
  readonly until: number
}

/** Answer of the mesh to a step, as JSON in the payload of its signal. */
export type MeshAnswer =
  | { readonly kind: 'done'; readonly outcome: MeshActivityOutcome }
  | { readonly kind: 'failed'; readonly error: string }
  /** There is no mesh: the step runs in this process. */
  | { readonly kind: 'skipped'; readonly reason: string }

interface MeshStepsOptions {
  readonly store: DatabaseStore
  readonly program: string
  readonly log: Logger
  activities(): MeshActivities | undefined
  status(): Pick<MeshStatus, 'enabled'> | undefined
  /** Called after an answer was stored. */
  onAnswer(): void
}

interface RunningStep {
  readonly step: MeshStep
  readonly unwanted: AbortController
  readonly ended: Promise<void>
}

/**
 * Does the steps of runs that are for the mesh, while their runs wait. A step is an item of a queue until its answer is
 * stored, so another process continues with the steps of one that has ended. An answer is a signal of the run.
 */
export class MeshSteps {
  readonly #options: MeshStepsOptions
  readonly #queue: ClaimedQueue<ClaimedEntry>
  readonly #running = new Map<ClaimedEntry, RunningStep>()
  readonly #stopping = new AbortController()
  #timers: readonly NodeJS.Timeout[] = []
  #polling: Promise<void> = Promise.resolve()
  #databaseId: string | null = null
  #isStarted = false
  #isPolling = false

  constructor(options: MeshStepsOptions) {
    this.#options = options
    const queue = meshQueue(options.program)
    this.#queue = new ClaimedQueue(options.store, queue, { alongside: () => [], entry: claimed => claimed })
  }

  /** Begins the requested steps, and continues with those of earlier processes. The tables of the store must exist. */
  start(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return
    this.#isStarted = true
    this.#timers = [
      setInterval(() => this.#poll(), POLL_MS).unref(),
      setInterval(() => void this.#lookAfter(), EXTEND_MS).unref()
    ]
    this.#poll()
  }

  /** Begins a step, unless it has begun already. */
  request(step: MeshStep): void {
    if (this.#stopping.signal.aborted) return
    const { store, program, log } = this.#options
    const item = { queue: meshQueue(program), key: keyOf(step), body: JSON.stringify(step) }
    store.batch(crd.putItems([item]).statements).then(
      () => this.#poll(),
      (error: unknown) => log.warn(`the step ${step.signal} of the run ${step.runId} did not begin`, { error })
    )
  }

  /** Stops the running steps, and returns them to the queue. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stopping.abort(new Error('the process stops'))
    await this.#polling
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    await this.#queue.release()
  }

  #poll(): void {
    if (!this.#isStarted || this.#isPolling || this.#stopping.signal.aborted) return
    this.#isPolling = true
    this.#polling = this.#claim()
      .catch((error: unknown) => this.#options.log.warn('steps for the mesh could not be read', { error }))
      .finally(() => {
        this.#isPolling = false
      })
  }

  async #claim(): Promise<void> {
    this.#databaseId ??= await databaseId(this.#options.store)
    while (!this.#stopping.signal.aborted && (await this.#queue.look()).isReady) {
      await this.#queue.claim(MAX_CLAIMED)
      const { ahead } = this.#queue
      if (ahead.length === 0) return
      for (const entry of ahead.splice(0)) this.#begin(entry)
    }
  }

  #begin(entry: ClaimedEntry): void {
    const step = JSON.parse(entry.body) as MeshStep
    const unwanted = new AbortController()
    const ended = this.#answer(entry, step, unwanted.signal)
      .catch((error: unknown) => {
        const { log } = this.#options
        log.warn(`the answer to the step ${step.signal} of the run ${step.runId} was not stored`, { error })
      })
      .finally(() => {
        this.#running.delete(entry)
        // When the process stops, the item is returned instead.
        if (!this.#stopping.signal.aborted) this.#queue.drop(entry)
      })
    this.#running.set(entry, { step, unwanted, ended })
  }

  async #answer({ token }: ClaimedEntry, step: MeshStep, unwanted: AbortSignal): Promise<void> {
    const { store, program, onAnswer } = this.#options
    const { runId, signal } = step
    // The plugin may be reloaded meanwhile; this instance knows what it has kept.
    const mesh = this.#options.activities()
    const answer = (await this.#isAnswered(step)) ? null : await this.#run(step, mesh, unwanted)
    if (answer === 'stopped') return
    const isStored = await store.transaction(async tx => {
      // Another process has the step if the lease ended meanwhile.
      if ((await tx.query(HELD, [token.id, token.fence])).rows.length === 0) return false
      if (answer !== null) await tx.execute(INSERT_SIGNAL, [runId, signal, JSON.stringify(answer), Date.now()])
      const { statements } = crd.ackItems([{ ...token, freeKey: true }])
      for (const { sql, parameters } of [...statements, ...crd.wakeItems(runQueue(program), [runId]).statements])
        await tx.execute(sql, parameters)
      return true
    })
    if (!isStored) return
    onAnswer()
    await mesh?.forget(this.#meshKey(step))
  }

  /** A turn that began before the answer may request the step again. */
  async #isAnswered({ runId, signal }: MeshStep): Promise<boolean> {
    return (await this.#options.store.query(ANSWERED, [runId, signal])).rows.length > 0
  }

  async #run(
    step: MeshStep,
    activities: MeshActivities | undefined,
    unwanted: AbortSignal
  ): Promise<MeshAnswer | 'stopped'> {
    if (this.#options.status()?.enabled() !== true) return { kind: 'skipped', reason: 'SVC_MESH_ENABLED is not set' }
    if (activities === undefined) return { kind: 'skipped', reason: 'the plugin mesh-node is not active' }
    const { runId: _, signal: __, until, ...request } = step
    const timeoutMs = until - Date.now()
    const late = `the time limit of ${step.activity} is over`
    if (timeoutMs <= 0) return { kind: 'failed', error: late }
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([this.#stopping.signal, unwanted, limit])
    try {
      return {
        kind: 'done',
        outcome: await activities.run({ ...request, timeoutMs, key: this.#meshKey(step) }, signal)
      }
    } catch (error) {
      if (limit.aborted) return { kind: 'failed', error: isTimeout(error) ? late : errorMessage(error) }
      if (unwanted.aborted) return { kind: 'failed', error: errorMessage(unwanted.reason) }
      // After a restart, the step is requested again.
      return this.#stopping.signal.aborted ? 'stopped' : { kind: 'failed', error: errorMessage(error) }
    }
  }

  #meshKey(step: MeshStep): string {
    return `${this.#databaseId} ${keyOf(step)}`
  }

  /** Extends the leases of the running steps, and aborts those that no run waits for any more. */
  async #lookAfter(): Promise<void> {
    try {
      await this.#queue.extend()
      const running = [...this.#running.values()]
      if (running.length === 0) return
      const runs = JSON.stringify([...new Set(running.map(({ step }) => step.runId))])
      const { rows } = await this.#options.store.query(WAITS, [runs])
      const waits = new Map(rows.map(([run, status, signal]) => [run, { status, signal }]))
      for (const { step, unwanted } of running) {
        const run = waits.get(step.runId)
        // A turn that runs now may wait for the step again.
        const isWanted =
          run !== undefined && (run.status === 'waiting' ? run.signal === step.signal : OPEN.has(String(run.status)))
        if (!isWanted) unwanted.abort(new DOMException(`the run ${step.runId} no longer waits for it`, 'TimeoutError'))
      }
    } catch (error) {
      this.#options.log.warn('the leases of steps for the mesh were not extended', { error })
    }
  }
}

const OPEN: ReadonlySet<string> = new Set(['pending', 'running'])
const HELD = 'SELECT 1 FROM coord_items WHERE id = ? AND fence = ? AND granted = 1'
const ANSWERED = 'SELECT 1 FROM workflow_signal_log WHERE run_id = ? AND signal_key = ? LIMIT 1'
const INSERT_SIGNAL =
  'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, ?)'
const WAITS = `SELECT r.run_id, r.status, s.waiting_for FROM workflow_run_log r JOIN workflow_run_state s
  ON s.run_id = r.run_id WHERE r.run_id IN (SELECT value FROM json_each(?))`

/** Returns the id of a database; the first call chooses it. */
async function databaseId(store: DatabaseStore): Promise<string> {
  await store.batch(crd.swapMeta(DATABASE_ID, null, randomUUID()).statements)
  const { statements, read } = crd.getMeta(DATABASE_ID)
  const id = read(await store.batch(statements))
  if (id === null) throw new Error(`the database has no ${DATABASE_ID}`)
  return id
}

/** Whether an error is only the reason of a signal. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function keyOf({ runId, signal }: MeshStep): string {
  return `${runId} ${signal}`
}
