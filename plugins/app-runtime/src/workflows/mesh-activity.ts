import { MESH_OPERATIONS, type MeshOperation } from '@svc/contracts'
import { RunError } from '../interpreter/failure.ts'
import { error, ok, type Value } from '../interpreter/value.ts'
import { losslessText } from '../wire/lossless.ts'
import type { CallOptions } from './call-options.ts'
import type { ActivityCall } from './execution.ts'
import { MESH_SIGNAL, type MeshAnswer, type MeshStep } from './mesh-steps.ts'
import { apiJson } from './stored-json.ts'
import { Suspension } from './suspension.ts'
import type { StepName, TurnRecord } from './turn-record.ts'

/** Time limit of an attempt on the mesh in milliseconds, and its minimum. */
const MESH_TIMEOUT_MS = 30_000
const MIN_MESH_TIMEOUT_MS = 250
/** Time after the limit in which the mesh answers why an attempt did not end, in milliseconds. */
const MESH_GRACE_MS = 10_000

/** True for an activity of a mesh node. */
export function isMesh(name: string): boolean {
  return name.startsWith('mesh_')
}

/**
 * Runs an activity on the mesh. Its turn ends until the mesh answers, or the time of the attempt is over, so that no thread
 * waits: throws {@link Suspension}. `dispatch` and `wait` return what the node returns; after the others, the body of the
 * activity runs.
 */
export function runOnMesh(turn: TurnRecord, step: StepName, activity: ActivityCall, hashes: readonly string[]): Value {
  const { options, isResult, run } = activity
  const max = (options.retries ?? 0) + 1
  const named = turn.named(step)
  const { runId, history } = turn.run
  let last = history.attempts.get(step.id)
  const deadlines = new Map(history.scheduled)
  if (last?.status === 'failed') turn.wait(deadlines.get(step.id) ?? 0)
  for (let attempt = last === undefined ? 1 : last.attempt + (last.status === 'failed' ? 1 : 0); ; attempt++) {
    if (last?.attempt !== attempt) {
      if (attempt === 1) turn.begin(step, 'mesh', options, max)
      const until = turn.durable.now() + meshTimeout(options)
      turn.started(step, attempt, hashes, until)
      deadlines.set(step.id, until)
    }
    const until = deadlines.get(step.id) ?? 0
    // After a reset, the attempts have the same numbers, but another time.
    const key = `${MESH_SIGNAL}${step.id}:${attempt}:${until}`
    const signal = turn.durable.workflows.signal(runId, key)
    // A step that runs already is not begun again.
    if (signal === null && until + MESH_GRACE_MS > turn.durable.now())
      throw new Suspension(until + MESH_GRACE_MS, key, meshStepOf(turn, activity, key, until))
    const answer = answerOf(signal?.payload ?? null)
    if (answer.kind === 'skipped') {
      turn.journal({ event: 'MeshActivitySkipped', ...named, reason: answer.reason })
      const details = { event: 'LocalActivity', activity: step.name, activity_id: step.id, status: 'executed' } as const
      const value = run()
      turn.complete(step, { ...details, classification: options.classification }, value, signal?.id)
      return value
    }
    const details = { event: 'MeshActivity', ...named, mesh_op: operationOf(activity) } as const
    if (answer.kind === 'done') {
      const { output, ...rest } = answer.outcome
      const value = output === undefined ? run() : isResult ? ok(output) : output
      turn.complete(step, { ...details, ...rest }, value, signal?.id)
      return value
    }
    turn.journal({ event: 'ActivityAttemptFailed', ...named, attempt, max_attempts: max, error: answer.error })
    if (attempt < max) {
      turn.retry(step, { attempt, error: answer.error, options })
      last = undefined
      continue
    }
    const thrown = new RunError('RUN_MESH_FAILED', `the step ${step.id} of ${step.name}: ${answer.error}`)
    if (!isResult) {
      turn.record({ attempt: { step: step.id, attempt, status: 'failed', error: answer.error } })
      throw thrown
    }
    const value = error(thrown.message)
    turn.complete(step, { ...details, control: 'failed' }, value, signal?.id)
    return value
  }
}

function meshStepOf(turn: TurnRecord, activity: ActivityCall, signal: string, until: number): MeshStep {
  const { name, options, params, args } = activity
  const { runId, workflow } = turn.run
  return {
    runId,
    signal,
    operation: operationOf(activity),
    workflow,
    activity: name,
    labels: options.labels,
    args: Object.fromEntries(params.map((param, at) => [param, jsonOf(args[at] ?? null)])),
    until
  }
}

function meshTimeout({ timeout }: CallOptions): number {
  return Math.max(MIN_MESH_TIMEOUT_MS, timeout ?? MESH_TIMEOUT_MS)
}

/** Returns the operation of an activity: the option `mens`, or the name after `mesh_`, or `noop`. */
function operationOf({ name, options }: ActivityCall): MeshOperation {
  const named = MESH_OPERATIONS.find(each => name === `mesh_${each}`)
  return options.mens ?? named ?? 'noop'
}

function answerOf(payload: string | null): MeshAnswer {
  return payload === null
    ? { kind: 'failed', error: 'the mesh did not answer in time' }
    : (JSON.parse(payload) as MeshAnswer)
}

/** Returns an argument as plain JSON, as the HTTP API writes it. */
function jsonOf(value: Value): unknown {
  return JSON.parse(apiJson(losslessText(value))) as unknown
}
