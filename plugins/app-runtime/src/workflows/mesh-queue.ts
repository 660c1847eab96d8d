import { randomUUID } from 'node:crypto'
import {
  coordinationSql as crd,
  type DatabaseStore,
  type ItemToken,
  type SharedWorkflowRuns,
  type WorkflowRun
} from '@svc/contracts'
import { type ClaimedEntry, ClaimedQueue } from './claimed-queue.ts'
import { meshQueue, runQueue } from './run-queue.ts'
import { SharedQueue } from './shared-queue.ts'

export type RunState = Pick<WorkflowRun, 'status' | 'waitingFor'>

/** The stored steps of a program for the mesh, and those that this process has claimed. */
export interface MeshQueue {
  readonly claims: ClaimedQueue<ClaimedEntry> | SharedQueue<ClaimedEntry>
  /** Returns the random id of the store, by which its steps differ in a mesh from those of other stores. */
  id(): Promise<string>
  /** Notes that this process has a mesh. Those without one leave steps to it for `forMs` milliseconds. */
  offer(forMs: number): Promise<void>
  /** True if another process with a mesh does the steps. */
  isOffered(): Promise<boolean>
  isAnswered(runId: string, signal: string): Promise<boolean>
  /**
   * Stores the answer to a step as a signal of its run, and removes the step, in one transaction. `payload`: null to remove
   * it without an answer. False, and nothing changes, if another process has the step.
   */
  answer(token: ItemToken, runId: string, signal: string, payload: string | null): Promise<boolean>
  /** Returns the states of those of the runs that exist, by id. */
  states(runIds: readonly string[]): Promise<ReadonlyMap<string, RunState>>
}

/** Name of the random id of a database, which distinguishes its runs from those of other databases in the mesh. */
const DATABASE_ID = 'workflow.mesh-id'

/** Opens the steps in the database of a program. Its tables must exist. */
export function databaseMeshQueue(store: DatabaseStore, program: string): MeshQueue {
  return {
    claims: new ClaimedQueue(store, meshQueue(program), { alongside: () => [], entry: claimed => claimed }),
    async id() {
      await store.batch(crd.swapMeta(DATABASE_ID, null, randomUUID()).statements)
      const { statements, read } = crd.getMeta(DATABASE_ID)
      const id = read(await store.batch(statements))
      if (id === null) throw new Error(`the database has no ${DATABASE_ID}`)
      return id
    },
    // Processes on one database have the same settings.
    offer: async () => undefined,
    isOffered: async () => false,
    isAnswered: async (...of) => (await store.query(ANSWERED, of)).rows.length > 0,
    answer: (token, runId, signal, payload) =>
      store.transaction(async tx => {
        if ((await tx.query(HELD, [token.id, token.fence])).rows.length === 0) return false
        if (payload !== null) await tx.execute(INSERT_SIGNAL, [runId, signal, payload, Date.now()])
        const statements = [
          ...crd.ackItems([{ ...token, freeKey: true }]).statements,
          ...crd.wakeItems(runQueue(program), [runId]).statements
        ]
        for (const { sql, parameters } of statements) await tx.execute(sql, parameters)
        return true
      }),
    async states(runIds) {
      const { rows } = await store.query(STATES, [JSON.stringify(runIds)])
      return new Map(
        rows.map(([run, status, waitingFor]) => [String(run), { status, waitingFor } as unknown as RunState])
      )
    }
  }
}

/** Opens the steps on a server that hosts share. */
export function sharedMeshQueue(runs: SharedWorkflowRuns, program: string): MeshQueue {
  return {
    claims: new SharedQueue<ClaimedEntry>(runs, {
      outlook: () => runs.outlook(program, 'mesh'),
      claim: async (owner, options) =>
        (await runs.claimMesh(program, owner, options)).map(claimed => ({ ...claimed, owner }))
    }),
    id: () => runs.meshId(),
    offer: forMs => runs.offerMesh(program, forMs),
    isOffered: () => runs.isMeshOffered(program),
    isAnswered: (runId, signal) => runs.isSignalled(runId, signal),
    answer: (token, runId, key, payload) =>
      runs.answerMesh(token, payload === null ? null : { runId, key, payload }, Date.now()),
    states: async runIds => new Map((await runs.states(runIds)).map(({ runId, ...state }) => [runId, state]))
  }
}

const HELD = 'SELECT 1 FROM coord_items WHERE id = ? AND fence = ? AND granted = 1'
const ANSWERED = 'SELECT 1 FROM workflow_signal_log WHERE run_id = ? AND signal_key = ? LIMIT 1'
const INSERT_SIGNAL =
  'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, ?)'
const STATES = `SELECT r.run_id, r.status, s.waiting_for FROM workflow_run_log r JOIN workflow_run_state s
  ON s.run_id = r.run_id WHERE r.run_id IN (SELECT value FROM json_each(?))`
