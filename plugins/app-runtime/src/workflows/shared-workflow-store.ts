import type { ItemToken, ThreadConnection, WorkflowChange, WorkflowClaim } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import type { Bridge } from '../threads/bridge.ts'
import type { DurableOptions } from './database-durable.ts'
import { hasEnded } from './owner.ts'
import { type AskedRuns, runsAsked } from './shared-runs-answers.ts'
import { addMetrics } from './sql-workflow-store.ts'
import type {
  ClaimedRun,
  Lease,
  NewRun,
  RunChange,
  RunHistory,
  RunRecord,
  ScheduledClaim,
  SignalRecord,
  WorkflowStore
} from './workflow-store.ts'

/** Delay before a scheduler takes a run that its caller wants to run at once, in milliseconds. */
const CALLED_DELAY_MS = 1_000

/**
 * Runs on a database server that several hosts share. The main thread has the connections; each call blocks the thread
 * until it has answered. Calls of a transaction of the program's own database are not part of it.
 */
export class SharedWorkflowStore implements WorkflowStore {
  readonly #connection: ThreadConnection
  readonly #runs: AskedRuns
  readonly #options: DurableOptions
  readonly #claims = new Map<string, { readonly workflow: string; readonly token: ItemToken }>()

  constructor(connection: ThreadConnection, bridge: Bridge, options: DurableOptions) {
    this.#connection = connection
    this.#runs = runsAsked(bridge)
    this.#options = options
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  create({ runId, workflow, args, parent, plannedSteps, isCalled }: NewRun, now: number): boolean {
    if (this.inTransaction)
      fail(
        'RUN_WORKFLOW_TRANSACTION',
        `${workflow} cannot be started inside a transaction, because the run would not be rolled back with it; start it from a @server function`
      )
    const { program, plan = { session: null, node: null, version: null } } = this.#options
    const delayMs = isCalled ? CALLED_DELAY_MS : 0
    return this.#runs.create({ runId, workflow, program, args, parent, plannedSteps, delayMs, plan }, now)
  }

  find(runId: string): RunRecord | null {
    return this.#runs.find(runId)
  }

  claim(runId: string, { owner, now, until }: Lease, again = false): ClaimedRun | null {
    const lease = { owner, leaseMs: until - now, now, again }
    let claim = this.#runs.claim(runId, lease)
    if (claim !== null && 'heldBy' in claim) {
      if (!hasEnded(claim.heldBy)) return null
      this.#runs.giveBack([claim.token])
      claim = this.#runs.claim(runId, lease)
    }
    if (claim === null || 'heldBy' in claim) return null
    return this.#claimed(claim)
  }

  adopt({ run: runId, token, wasInterrupted }: ScheduledClaim): ClaimedRun | null {
    const run = this.#runs.adopt(runId, token)
    return run === null ? null : this.#claimed({ run, token, wasInterrupted })
  }

  history(runId: string): RunHistory {
    const { generation, hasBegun, completed, scheduled, attempts, args } = this.#runs.history(runId)
    return {
      generation,
      hasBegun,
      completed: new Map(completed.map(({ step, ...rest }) => [step, rest])),
      scheduled: new Map(scheduled.map(({ step, at }) => [step, at])),
      attempts: new Map(attempts.map(({ step, ...rest }) => [step, rest])),
      args: new Map(args.map(({ step, hashes }) => [step, hashes]))
    }
  }

  record(runId: string, owner: string, changes: readonly RunChange[], now: number): void {
    const claim = this.#claims.get(runId)
    if (claim === undefined || !this.#runs.record(runId, claim.token, changes.map(changeOf), { owner, now })) {
      this.#claims.delete(runId)
      fail('RUN_WORKFLOW_LOST', `the run ${runId} was cancelled, or another process runs it`)
    }
    if (changes.some(({ turn }) => turn !== undefined)) this.#claims.delete(runId)
    const { metricSession } = this.#options
    const entries = changes.flatMap(({ entries = [] }) => entries)
    if (metricSession === null || entries.length === 0) return
    try {
      addMetrics(this.#connection, { run: runId, workflow: claim.workflow, session: metricSession, entries })
    } catch {
      // The change is stored. The journal on the server has the entries that the metrics of this host lack.
    }
  }

  signal(runId: string, key: string): SignalRecord | null {
    return this.#runs.signal(runId, key)
  }

  #claimed({ run, token, wasInterrupted }: WorkflowClaim): ClaimedRun {
    const { runId, workflow } = run
    this.#claims.set(runId, { workflow, token })
    return { ...run, wasInterrupted }
  }
}

function changeOf({ entries, completed, scheduled, attempt, ...rest }: RunChange): WorkflowChange {
  return {
    ...rest,
    ...(entries !== undefined && { entries: entries.map(each => JSON.stringify(each)) }),
    ...(completed !== undefined && { completed: withStep(completed) }),
    ...(scheduled !== undefined && { scheduled: withStep(scheduled) }),
    ...(attempt !== undefined && { attempt: withStep(attempt) })
  }
}

function withStep<A extends { readonly activityId: string }>({ activityId, ...rest }: A) {
  return { step: activityId, ...rest }
}
