import {
  coordinationSql as crd,
  type DatabaseStore,
  type MeshActivities,
  type MeshActivityOutcome,
  type MeshStatus
} from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { runQueue } from './run-queue.ts'

/** Prefix of the signals with which the mesh answers a step. Others cannot send them. */
export const MESH_SIGNAL = 'svc.mesh:'

/** A step of a run that the mesh shall do. */
export interface MeshStep extends Omit<Parameters<MeshActivities['run']>[0], 'key'> {
  readonly runId: string
  /** Signal that the run waits for. */
  readonly signal: string
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
  status(): MeshStatus | undefined
  /** Called after an answer was stored. */
  onAnswer(): void
}

/**
 * Does the steps of runs that are for the mesh, while their runs wait. An answer is a signal of the run, so it is not lost
 * if the process ends; a step without an answer is requested again when its run resumes.
 */
export class MeshSteps {
  readonly #options: MeshStepsOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #abort = new AbortController()

  constructor(options: MeshStepsOptions) {
    this.#options = options
  }

  /** Begins a step, unless it runs already. */
  request(step: MeshStep): void {
    const key = `${step.runId} ${step.signal}`
    if (this.#running.has(key) || this.#abort.signal.aborted) return
    const running = this.#answered(step, key)
      .catch((error: unknown) => this.#options.log.warn(`the step ${step.signal} has no answer`, { error }))
      .finally(() => this.#running.delete(key))
    this.#running.set(key, running)
  }

  /** Aborts the running steps, and waits for them. */
  async close(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.#running.values())
  }

  async #answered(step: MeshStep, key: string): Promise<void> {
    const answer = await this.#run(step, key)
    // After a restart, the step is requested again.
    if (this.#abort.signal.aborted) return
    const { store, program, onAnswer } = this.#options
    await store.batch([
      {
        sql: 'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, ?)',
        parameters: [step.runId, step.signal, JSON.stringify(answer), Date.now()]
      },
      ...crd.wakeItems(runQueue(program), [step.runId]).statements
    ])
    onAnswer()
  }

  async #run({ runId: _, signal: __, ...request }: MeshStep, key: string): Promise<MeshAnswer> {
    if (this.#options.status()?.enabled() !== true) return { kind: 'skipped', reason: 'SVC_MESH_ENABLED is not set' }
    const activities = this.#options.activities()
    if (activities === undefined) return { kind: 'skipped', reason: 'the plugin mesh-node is not active' }
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(request.timeoutMs)])
    try {
      return { kind: 'done', outcome: await activities.run({ ...request, key }, signal) }
    } catch (error) {
      return { kind: 'failed', error: errorMessage(error) }
    }
  }
}
