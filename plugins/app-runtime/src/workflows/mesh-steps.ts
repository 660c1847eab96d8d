import type { MeshActivities, MeshActivityOutcome, MeshActivityRequest, MeshStatus } from '@svc/contracts'
import { errorMessage, LinkedSignal, type Logger } from '@svc/plugin-sdk'
import type { ClaimedEntry } from './claimed-queue.ts'
import type { MeshQueue } from './mesh-queue.ts'

/** Prefix of the signals with which the mesh answers a step. Others cannot send them. */
export const MESH_SIGNAL = 'svc.mesh:'

/** Interval in milliseconds at which the store is checked for steps of processes that have ended. */
const POLL_MS = 1_000
/** Interval in milliseconds at which leases are extended, and steps that no run waits for are aborted. */
const EXTEND_MS = 10_000
/** Milliseconds for which hosts without a mesh leave steps to this one. */
const OFFER_MS = 30_000
/** Maximum steps that one transaction claims. */
const MAX_CLAIMED = 100
const NO_PLUGIN = 'the plugin mesh-node is not active'
/** Maximum characters of the error of a step. */
const MAX_ERROR_LENGTH = 2_000

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
  readonly queue: MeshQueue
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

/** Returns the item of a step, which is stored in the transaction that lets its run wait. */
export function meshItem(step: MeshStep): { readonly key: string; readonly body: string } {
  return { key: keyOf(step), body: JSON.stringify(step) }
}

/**
 * Does the steps of runs that are for the mesh, while their runs wait. A step is an item of a queue until its answer is
 * stored, so another process continues with the steps of one that has ended: on another host if they share their runs.
 * An answer is a signal of the run.
 */
export class MeshSteps {
  readonly #options: MeshStepsOptions
  readonly #running = new Map<ClaimedEntry, RunningStep>()
  readonly #stopping = new AbortController()
  #timers: readonly NodeJS.Timeout[] = []
  #polling: Promise<void> = Promise.resolve()
  #storeId: string | null = null
  #isStarted = false
  #isPolling = false
  /** True if a step was stored while the queue was checked. */
  #isWanted = false

  constructor(options: MeshStepsOptions) {
    this.#options = options
  }

  /** Begins the stored steps, also those of earlier processes. */
  start(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return
    this.#isStarted = true
    this.#timers = [
      setInterval(() => this.#poll(), POLL_MS).unref(),
      setInterval(() => void this.#lookAfter(), EXTEND_MS).unref()
    ]
    this.#poll()
  }

  /** Looks for steps now; called when one was stored. */
  poke(): void {
    if (this.#isPolling) this.#isWanted = true
    else this.#poll()
  }

  /** Stops the running steps, and returns them to the queue. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stopping.abort(new Error('the process stops'))
    await this.#polling
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    await this.#options.queue.claims.release()
  }

  #poll(): void {
    if (!this.#isStarted || this.#isPolling || this.#stopping.signal.aborted) return
    this.#isPolling = true
    this.#isWanted = false
    this.#polling = this.#claim()
      .catch((error: unknown) => this.#options.log.warn('steps for the mesh could not be read', { error }))
      .finally(() => {
        this.#isPolling = false
        if (this.#isWanted) this.#poll()
      })
  }

  async #claim(): Promise<void> {
    const { queue } = this.#options
    const { claims } = queue
    if (this.#storeId === null) {
      if (this.#absent() === null) await queue.offer(OFFER_MS)
      this.#storeId = await queue.id()
    }
    while (!this.#stopping.signal.aborted && (await claims.look()).isReady) {
      if (this.#absent() !== null && (await queue.isOffered())) return
      await claims.claim(MAX_CLAIMED)
      const { ahead } = claims
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
        if (!this.#stopping.signal.aborted) this.#options.queue.claims.drop(entry)
      })
    this.#running.set(entry, { step, unwanted, ended })
  }

  async #answer({ token }: ClaimedEntry, step: MeshStep, unwanted: AbortSignal): Promise<void> {
    const { queue, onAnswer } = this.#options
    const { runId, signal } = step
    // The plugin may be reloaded meanwhile; this instance knows what it has kept.
    const mesh = this.#options.activities()
    // A turn that began before the answer may store the step again.
    const isAnswered = await queue.isAnswered(runId, signal)
    const answer = isAnswered ? null : await this.#run(step, mesh, unwanted)
    if (answer === 'stopped') return
    // Another process has the step if the lease ended meanwhile.
    if (!(await queue.answer(token, runId, signal, answer === null ? null : JSON.stringify(answer)))) return
    onAnswer()
    await mesh?.forget(this.#meshKey(step))
  }

  async #run(
    step: MeshStep,
    activities: MeshActivities | undefined,
    unwanted: AbortSignal
  ): Promise<MeshAnswer | 'stopped'> {
    const absent = this.#absent()
    if (absent !== null || activities === undefined) return { kind: 'skipped', reason: absent ?? NO_PLUGIN }
    const { runId: _, signal: __, until, ...request } = step
    const timeoutMs = until - Date.now()
    const late = `the time limit of ${step.activity} is over`
    if (timeoutMs <= 0) return failed(late)
    const isLate = (): boolean => Date.now() >= until
    const linked = new LinkedSignal()
      .with(this.#stopping.signal)
      .with(unwanted)
      .after(timeoutMs, () => new DOMException(late, 'TimeoutError'))
    try {
      return {
        kind: 'done',
        outcome: await activities.run({ ...request, timeoutMs, key: this.#meshKey(step) }, linked.signal)
      }
    } catch (error) {
      if (isLate()) return failed(isTimeout(error) ? late : errorMessage(error))
      if (unwanted.aborted) return failed(errorMessage(unwanted.reason))
      // After a restart, the step is requested again.
      return this.#stopping.signal.aborted ? 'stopped' : failed(errorMessage(error))
    } finally {
      linked.close()
    }
  }

  /** Returns why there is no mesh; null if there is one. */
  #absent(): string | null {
    const { status, activities } = this.#options
    if (status()?.enabled() !== true) return 'SVC_MESH_ENABLED is not set'
    return activities() === undefined ? NO_PLUGIN : null
  }

  #meshKey(step: MeshStep): string {
    return `${this.#storeId} ${keyOf(step)}`
  }

  /** Extends the leases of the running steps, and aborts those that no run waits for any more. */
  async #lookAfter(): Promise<void> {
    const { queue, log } = this.#options
    try {
      if (this.#absent() === null) await queue.offer(OFFER_MS)
      await queue.claims.extend()
      const running = [...this.#running.values()]
      if (running.length === 0) return
      const states = await queue.states([...new Set(running.map(({ step }) => step.runId))])
      for (const { step, unwanted } of running) {
        const run = states.get(step.runId)
        // A turn that runs now may wait for the step again.
        const isWanted =
          run !== undefined && (run.status === 'waiting' ? run.waitingFor === step.signal : OPEN.has(run.status))
        if (!isWanted) unwanted.abort(new DOMException(`the run ${step.runId} no longer waits for it`, 'TimeoutError'))
      }
    } catch (error) {
      log.warn('the leases of steps for the mesh were not extended', { error })
    }
  }
}

const OPEN: ReadonlySet<string> = new Set(['pending', 'running'])

function failed(error: string): MeshAnswer {
  return { kind: 'failed', error: error.slice(0, MAX_ERROR_LENGTH) }
}

/** Whether an error is only the reason of a signal. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function keyOf({ runId, signal }: MeshStep): string {
  return `${runId} ${signal}`
}
