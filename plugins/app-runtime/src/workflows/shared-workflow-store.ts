import type { ItemToken, ThreadConnection, WorkflowChange, WorkflowClaim } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import type { Bridge } from '../threads/bridge.ts'
import type { DurableOptions } from './database-durable.ts'
import { hasEnded } from './owner.ts'
import { forwardStart, storeStart } from './run-outbox.ts'
import { type AskedRuns, runsAsked } from './shared-runs-answers.ts'
import { addMetrics } from './sql-workflow-store.ts'
import type {
  ClaimedRun,
  Lease,
  NewRun,
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
 * until it has answered. A run that a transaction of the program's database starts is stored in it, and started later.
 */
export class SharedWorkflowStore implements WorkflowStore {
  readonly #connection: ThreadConnection
  readonly #runs: AskedRuns
  readonly #options: DurableOptions
  readonly #claims = new Map<string, { readonly workflow: string; readonly token: ItemToken }>()
  /** The claimed run that has no history. */
  #fresh: string | null = null

  constructor(connection: ThreadConnection, bridge: Bridge, options: DurableOptions) {
    this.#connection = connection
    this.#runs = runsAsked(bridge)
    this.#options = options
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  create({ runId, workflow, args, parent, plannedSteps, isCalled }: NewRun, now: number): boolean {
    const { program, plan = { session: null, node: null, version: null } } = this.#options
    const delayMs = isCalled ? CALLED_DELAY_MS : 0
    const run = { runId, workflow, program, args, parent, plannedSteps, delayMs, plan }
    if (!this.inTransaction) return this.#runs.create(run, now)
    // The run is started after the commit, so that it is rolled back with the transaction.
    storeStart(this.#connection, run, now)
    return true
  }

  find(runId: string): RunRecord | null {
    return this.#runs.find(runId)
  }

  claim(runId: string, { owner, now, until }: Lease, again = false): ClaimedRun | null {
    const lease = { owner, leaseMs: until - now, now, again }
    let claim = this.#runs.claim(runId, lease)
    const { program } = this.#options
    if (claim === null && forwardStart(this.#connection, { program, runId }, this.#runs.create))
      claim = this.#runs.claim(runId, lease)
    if (claim !== null && 'heldBy' in claim) {
      if (!hasEnded(claim.heldBy)) return null
      this.#runs.giveBack([claim.token])
      claim = this.#runs.claim(runId, lease)
    }
    if (claim === null || 'heldBy' in claim) return null
    return this.#claimed(claim)
  }

  adopt({ run: runId, token, wasInterrupted, fresh = null }: ScheduledClaim): ClaimedRun | null {
    this.#fresh = fresh === null ? null : runId
    const run = fresh ?? this.#runs.adopt(runId, token)
    return run === null ? null : this.#claimed({ run, token, wasInterrupted })
  }

  history(runId: string): RunHistory {
    if (this.#fresh === runId) {
      this.#fresh = null
      return emptyHistory()
    }
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

  record(runId: string, owner: string, changes: readonly WorkflowChange[], now: number): void {
    const claim = this.#claims.get(runId)
    if (claim === undefined || !this.#runs.record(runId, claim.token, changes, { owner, now })) {
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
    return { ...run, status: 'running', error: null, wakeAt: null, waitingFor: null, wasInterrupted }
  }
}

function emptyHistory(): RunHistory {
  const none = new Map<string, never>()
  return { generation: 0, hasBegun: false, completed: new Map(), scheduled: none, attempts: none, args: new Map() }
}
