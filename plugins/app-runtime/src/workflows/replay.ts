import { isAbsolute, resolve } from 'node:path'
import type { DatabaseStore, LanguageCompiler, Program } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { Limits } from '../interpreter/machine.ts'
import { runInThread } from '../worker/run-in-thread.ts'
import { FAMILY } from './prune.ts'
import type { RecordedRun } from './replay-store.ts'
import { findRun, type OpenRuns, runIdField, shownRun } from './runs.ts'
import { ARGS, ATTEMPTS, attemptOf, GENERATION, hashesOf, RUN, recordOf, STEPS, stepOf } from './sql-workflow-store.ts'

const { RUN_WORKFLOW_UNKNOWN, RUN_PROGRAM_INVALID, RUN_TIME_LIMIT, RUN_MEMORY_LIMIT, RUN_CRASHED } = runErrors.specs

/** Maximum child runs of a replay. */
export const MAX_CHILDREN = 1_000

/** Time limit of a replay, in milliseconds. */
const MAX_MS = 30_000

export const workflowReplay = defineOperation({
  id: 'workflow.replay',
  summary: 'Check whether the current program repeats the recorded steps of a run',
  description:
    'Compiles the source file of the run, and runs the workflow against its journal. Recorded steps return their results; no step is executed, and nothing is stored. Use it before a changed program replaces one with active runs.',
  input: t.object({ run_id: runIdField }),
  output: t.object({
    run_id: t.string(),
    deterministic: t.nullable(t.boolean({ description: 'null if a limit ended the replay.' })),
    detail: t.string(),
    replayed: t.integer({ description: 'Recorded steps that the program reached.' }),
    recorded: t.integer({ description: 'Completed steps of the run and its child runs.' }),
    text: t.string()
  }),
  errors: { RUN_WORKFLOW_UNKNOWN, RUN_PROGRAM_INVALID, RUN_TIME_LIMIT, RUN_MEMORY_LIMIT, RUN_CRASHED },
  effect: 'read',
  concurrency: 1,
  expose: {
    http: { method: 'POST', path: '/api/workflows/:run_id/replay' },
    mcp: {
      name: 'svc_workflow_replay',
      toolsets: ['workflows'],
      use: 'Use it after the program changed, before a run continues. It changes nothing.'
    },
    rpc: true,
    cli: { command: 'workflow replay', args: ['run_id'], view: { text: 'text' } }
  }
})

export interface ReplayParts {
  readonly open: () => Promise<RecordedRuns>
  readonly compiler: Pick<LanguageCompiler, 'compile' | 'read'>
  readonly projectRoot: string
  limits(): Limits
}

/** Where recorded runs are read. */
export interface RecordedRuns {
  /** Path of the program of a run. Throws `RUN_WORKFLOW_UNKNOWN`. */
  programOf(runId: string): Promise<string>
  /** A run and its child runs, at most {@link MAX_CHILDREN} + 1. */
  read(runId: string): Promise<RecordedRun[]>
}

/** The runs in a database. */
export function recordedIn(open: OpenRuns): () => Promise<RecordedRuns> {
  return async () => {
    const store = await open()
    return {
      programOf: async runId => shownRun(await findRun(store, runId)).program,
      read: runId => recordedRuns(store, runId)
    }
  }
}

export function replayHandler({ open, compiler, projectRoot, limits }: ReplayParts): Handler<typeof workflowReplay> {
  return async ({ run_id }, call) => {
    const store = await open()
    const file = await store.programOf(run_id)
    const [program, runs] = await Promise.all([compiled(compiler, projectRoot, file), store.read(run_id)])
    const { milliseconds, ...others } = limits()
    const ending = await runInThread(
      {
        program,
        limits: { ...others, milliseconds: Math.min(milliseconds, MAX_MS) },
        capabilities: [],
        seed: null,
        args: [],
        work: { kind: 'replay', runId: run_id, runs },
        database: null
      },
      { print: () => undefined, report: () => undefined, failed: () => undefined },
      call.signal
    )
    const recorded = runs.reduce((count, { completed }) => count + completed.length, 0)
    if (!ending.ok && !LIMITS.has(ending.failure.code)) {
      throw runErrors.create(ending.failure.code, ending.failure.message)
    }
    const { isDeterministic, detail, replayed } = ending.ok
      ? (ending.outcome.replay ?? { isDeterministic: null, detail: 'the program ended itself', replayed: 0 })
      : { isDeterministic: null, detail: ending.failure.message, replayed: 0 }
    const verdict = { true: 'is deterministic', false: 'is not deterministic', null: 'could not be replayed' }
    return {
      run_id,
      deterministic: isDeterministic,
      detail,
      replayed,
      recorded,
      text: `${run_id} ${verdict[`${isDeterministic}`]}: ${detail} (${replayed} of ${recorded} steps)`
    }
  }
}

const LIMITS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_MEMORY_LIMIT'])

async function compiled(compiler: ReplayParts['compiler'], projectRoot: string, file: string): Promise<Program> {
  const invalid = (reason: string): Error =>
    runErrors.create('RUN_PROGRAM_INVALID', `${file} ${reason}`, {
      hint: 'restore the source file of the run; svc check shows its errors'
    })
  // The name comes from the database, which other programs can write to.
  if (isAbsolute(file) || file.split('/').includes('..')) throw invalid('is outside the project')
  const texts = await compiler.read([resolve(projectRoot, file)]).catch(() => [])
  const [text] = texts
  if (text === undefined) throw invalid('cannot be read')
  const result = await compiler.compile(text, { script: false })
  if (result.ok) return result.program
  throw invalid(`has errors:\n${result.report.trimEnd()}`)
}

/** Reads a run and its child runs with their histories. */
async function recordedRuns(store: DatabaseStore, runId: string): Promise<RecordedRun[]> {
  const family = await store.query(`${FAMILY} LIMIT ?`, [JSON.stringify([runId]), MAX_CHILDREN + 1])
  const runs: RecordedRun[] = []
  for (const [id] of family.rows) {
    const run = await recordedRun(store, String(id))
    if (run !== null) runs.push(run)
  }
  return runs
}

async function recordedRun(store: DatabaseStore, runId: string): Promise<RecordedRun | null> {
  const [run, steps, attempts, args, generation] = await Promise.all([
    store.query(RUN, [runId]),
    store.query(STEPS, [runId]),
    store.query(ATTEMPTS, [runId]),
    store.query(ARGS, [runId]),
    store.query(GENERATION, [runId])
  ])
  const [row] = run.rows
  if (row === undefined) return null
  const inStatus = (wanted: string) => steps.rows.filter(([, , status]) => status === wanted)
  return {
    record: recordOf(row),
    completed: inStatus('completed').map(([id, activity, , text]) => [String(id), stepOf(activity, text)]),
    scheduled: inStatus('scheduled').map(([id, , , at]) => [String(id), Number(at)]),
    attempts: attempts.rows.map(([id, attempt, status]) => [String(id), attemptOf(attempt, status)]),
    args: args.rows.map(([id, hashes]) => [String(id), hashesOf(hashes)]),
    generation: Number(generation.rows[0]?.[0] ?? 0)
  }
}
