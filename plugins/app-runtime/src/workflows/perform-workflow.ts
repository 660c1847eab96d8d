import type { HirProcess, Program } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { display } from '../interpreter/display.ts'
import type { Interpreter } from '../interpreter/interpreter.ts'
import { isObject } from '../interpreter/json.ts'
import type { Limits } from '../interpreter/machine.ts'
import { Tagged, type Value } from '../interpreter/value.ts'
import { parseJson, printJson } from '../wire/json-text.ts'
import { WireTypes } from '../wire/wire-types.ts'
import type { RunOutcome, WorkflowWork } from '../worker/job.ts'

/**
 * Starts a run, or resumes the one with this id, and waits for its end. Calls `begin` when the limits restart.
 * Throws the failure of the run, `RUN_WORKFLOW_UNKNOWN`, `RUN_WORKFLOW_PENDING` and `RUN_ARGUMENTS`.
 */
export function performWorkflow(
  interpreter: Interpreter,
  { module, defaults, path }: Program,
  { name, args, runId }: WorkflowWork,
  limits: Limits,
  begin: () => void
): RunOutcome {
  const workflow = module.workflows.find(each => each.name === name)
  if (workflow === undefined) {
    const names = module.workflows.map(each => each.name).join(', ')
    const has = names === '' ? 'it has none' : `it has ${names}`
    throw runErrors.create('RUN_WORKFLOW_UNKNOWN', `${path} has no workflow ${name}: ${has}`)
  }
  // An explicit id also retries a failed run.
  const end = interpreter.turn(runId, limits, { again: true })
  const isKnown = end.kind !== 'taken' || end.run !== null
  begin()
  return interpreter.within(limits, program => {
    const types = new WireTypes(module, { defaults, evaluate: code => program.evaluate(code) })
    const result = program.workflow(name, argumentsOf(workflow, args, types, isKnown), runId)
    const isRefusal = result instanceof Tagged && result.tag === 'Error'
    return {
      refused: isRefusal ? display(result.fields[0] ?? null) : null,
      exit: null,
      result: printJson(types.encode(result, workflow.return_type))
    }
  })
}

/** Reads the arguments. They may be omitted for an existing run, which has stored arguments. */
function argumentsOf(
  { name, params }: HirProcess,
  text: string,
  types: WireTypes,
  isKnown: boolean
): (Value | undefined)[] {
  const values = read(text)
  const named: Record<string, unknown> = Array.isArray(values)
    ? Object.fromEntries(values.map((value, index) => [params[index]?.name ?? `argument ${index + 1}`, value]))
    : values
  const unknown = Object.keys(named).find(key => !params.some(param => param.name === key))
  if (unknown !== undefined) {
    throw runErrors.create('RUN_ARGUMENTS', `the workflow ${name} has no parameter ${unknown}`)
  }
  return params.map(({ name: key, type_ann, hasDefault }) => {
    const json = named[key]
    if (json === undefined && hasDefault) return undefined
    return json === undefined && isKnown ? null : types.decode(json, type_ann, key)
  })
}

function read(text: string): unknown[] | Record<string, unknown> {
  try {
    const values = parseJson(text)
    if (Array.isArray(values) || isObject(values)) return values
  } catch (cause) {
    throw runErrors.create('RUN_ARGUMENTS', `the arguments are not JSON: ${(cause as Error).message}`, { cause })
  }
  throw runErrors.create('RUN_ARGUMENTS', 'the arguments must be a JSON object by parameter name, or an array')
}
