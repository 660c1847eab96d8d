import { randomUUID } from 'node:crypto'
import type { HirProcess } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, t } from '@svc/plugin-sdk'
import { compiled, listenerOf, type Runner, reportFailure } from '../run-command.ts'
import type { Settings } from '../settings.ts'

const file = t.string({ minLength: 1, description: 'The source file.' })

export const workflowRunCommand: CommandDescriptor = {
  command: 'workflow run',
  summary: 'Run or resume a workflow and print its result',
  input: t.object({
    file,
    name: t.string({ minLength: 1, description: 'Name of the workflow.' }),
    args: t.string({ default: '{}', description: 'Arguments as JSON: an object by parameter name, or an array.' }),
    'run-id': t.optional(t.string({ minLength: 1, description: 'Id of the run; default: a new id.' }))
  }),
  args: ['file', 'name']
}

export const workflowCheckCommand: CommandDescriptor = {
  command: 'workflow check',
  summary: 'Check a program and list its workflows and activities',
  input: t.object({ file }),
  args: ['file']
}

/**
 * Runs `workflow run`. Exit codes: 0; 1 if the file has errors, or the run failed, is still pending at the time limit,
 * or returned an Error; 130 if interrupted.
 */
export function runWorkflow(runner: Runner): CommandHandler {
  return async (given, io) => {
    const { file, name, args = '{}', 'run-id': id } = given as unknown as RunInput
    const program = await compiled(runner.compiler, file, false, io)
    if (program === null) return 1
    return workflowEnded(runner, program, { name, args, runId: id ?? randomUUID() }, io)
  }
}

interface RunInput {
  readonly file: string
  readonly name: string
  readonly args?: string
  readonly 'run-id'?: string
}

/** Runs a workflow and prints its outcome; returns the exit code. */
async function workflowEnded(
  runner: Runner,
  program: Parameters<Runner['run']>[0],
  { name, args, runId }: { readonly name: string; readonly args: string; readonly runId: string },
  io: CommandIo
): Promise<number> {
  if (!io.json) io.stderr.write(`run ${runId}\n`)
  const job = { work: { kind: 'workflow' as const, name, args, runId }, args: [], seed: null }
  // The program's output goes to stderr: stdout is for the result.
  const listener = listenerOf({ ...io, stdout: io.stderr })
  const ending = await runner.run(program, job, listener, io.signal)
  if (!ending.ok) return reportFailure(ending.failure, io)
  const { refused, result = 'null' } = ending.outcome
  io.stdout.write(io.json ? `{"run_id":${JSON.stringify(runId)},"result":${result}}\n` : `${result}\n`)
  return refused === null ? 0 : 1
}

/** Exit code for the failure of a workflow in SVC_RUN_WORKFLOW. */
const ORDERED_FAILED = 2

/**
 * Runs the workflow in SVC_RUN_WORKFLOW, with the arguments in SVC_WORKFLOW_ARGS, on `svc run FILE`. Without the
 * variable, calls `otherwise`. Exit codes: 0; 130 if interrupted; 2 for every failure.
 */
export function orderedWorkflow(
  runner: Runner,
  ordered: () => Pick<Settings, 'run_workflow' | 'workflow_args'>,
  otherwise: CommandHandler
): CommandHandler {
  return async (given, io) => {
    const { run_workflow: name, workflow_args: args } = ordered()
    if (name === undefined) return otherwise(given, io)
    const program = await compiled(runner.compiler, String(given.file), false, io)
    if (program === null) return ORDERED_FAILED
    const code = await workflowEnded(runner, program, { name, args, runId: randomUUID() }, io)
    return code === 1 ? ORDERED_FAILED : code
  }
}

/** Runs `workflow check`. Exit codes: 0; 1 if the file has errors. */
export function checkWorkflows({ compiler }: Pick<Runner, 'compiler'>): CommandHandler {
  return async (given, io) => {
    const program = await compiled(compiler, String(given.file), false, io)
    if (program === null) return 1
    const { workflows, activities } = program.module
    if (io.json) {
      io.stdout.write(
        `${JSON.stringify({ workflows: workflows.map(describe), activities: activities.map(describe) })}\n`
      )
      return 0
    }
    for (const [kind, list] of Object.entries({ workflow: workflows, activity: activities })) {
      for (const { name, params } of list)
        io.stdout.write(`${kind} ${name}(${params.map(each => each.name).join(', ')})\n`)
    }
    if (workflows.length === 0) io.stdout.write(`${program.path} has no workflows\n`)
    return 0
  }
}

function describe({ name, params }: HirProcess) {
  return { name, params: params.map(param => ({ name: param.name, required: !param.hasDefault })) }
}
