import {
  type Gathered,
  type Orchestrator,
  orchestrationErrors,
  processLabel,
  type RepositoryTask,
  SEAT_SURFACE,
  type TaskProcess,
  type TaskReference,
  type TaskVerb,
  type TaskVerbArguments,
  taskLabel
} from '@svc/contracts'
import { type Call, t } from '@svc/plugin-sdk'
import { type Dependencies, orchestratorOf } from '../dependencies.ts'
import { referenceOf } from '../fields.ts'

export const processFields = {
  host: t.string(),
  pid: t.nullable(t.integer()),
  seat: t.nullable(t.integer({ description: 'Number of the process in the database; null on another database.' })),
  alive: t.boolean({ description: 'False if the process has ended: another one takes over.' }),
  own: t.boolean({ description: 'True for the process that answers.' })
}

/** Fields of a task or agent that name the process that holds it. */
export const holderFields = {
  holder: t.string({ description: 'Process that holds it, for example 4711 on box.' }),
  process: t.object(processFields)
}

/** Input that leaves out other processes. */
export const own = t.boolean({ default: false, description: 'Shows only what the answering process holds.' })

/** Returns the {@link holderFields} of a process. */
export function holderOf(process: TaskProcess) {
  const { host, pid, seat, alive, own } = process
  return { holder: processLabel(process), process: { host, pid, seat, alive, own } }
}

/** Returns the field `incomplete` if a source could not be read. */
export function incomplete(failed: Gathered<unknown>['failed']): { incomplete?: string } {
  if (failed.length === 0) return {}
  const reasons = failed.map(({ source, error }) => `${source}: ${error}`)
  return { incomplete: `Tasks of other processes are missing: ${reasons.join('; ')}` }
}

/** Returns a task of any process. Throws `ORC_TASK_NOT_FOUND` with the message that clients of the protocol expect. */
export async function foundAnywhere(
  { tasks }: Pick<Dependencies, 'tasks'>,
  task: number | string,
  signal: AbortSignal
): Promise<RepositoryTask> {
  const reference = referenceOf(task)
  const found = await tasks.current.find(reference, signal)
  if (found !== null) return found
  throw notFound(reference)
}

/** Verbs that a pilot sends to the daemon. */
const PILOTED: ReadonlySet<TaskVerb> = new Set(['complete', 'fail', 'cancel', 'reorder'])

/**
 * Changes a task: in this process or at the daemon with `run`, or by the process that holds the task, which runs the
 * same operation with `args`. Throws the error of the operation, and `ORC_ELSEWHERE` if the holder does not respond.
 */
export async function change<A>(
  dependencies: Dependencies,
  call: Pick<Call, 'surface' | 'principal' | 'requestId' | 'signal'>,
  { task, verb, args }: { readonly task: number | string; readonly verb: TaskVerb; readonly args: TaskVerbArguments },
  run: (orchestrator: Orchestrator, task: number) => Promise<A>
): Promise<A> {
  const { local, pilot, tasks } = dependencies
  const reference = referenceOf(task)
  const orchestrator = orchestratorOf(dependencies, call)
  if (call.surface === SEAT_SURFACE) return run(orchestrator, reference.id)
  if (orchestrator !== local && PILOTED.has(verb) && (await pilot.steers('task_writes')))
    return run(orchestrator, reference.id)
  const { signal, principal, requestId } = call
  const held = await tasks.current.heldElsewhere(reference, signal)
  if (held !== null) return (await tasks.current.act(held, verb, args, { principal, requestId, signal })) as A
  if (reference.host !== undefined && reference.host !== tasks.current.process.host) throw notFound(reference)
  return run(orchestrator, reference.id)
}

function notFound({ id, host }: TaskReference) {
  const place = host === undefined ? '' : ` on ${host}`
  return orchestrationErrors.create('ORC_TASK_NOT_FOUND', `task ${id} not found${place}`, {
    data: { task_id: id },
    hint: `list the tasks to see their ids, for example ${taskLabel(id)}; only the last 1,000 ended tasks are remembered`
  })
}
