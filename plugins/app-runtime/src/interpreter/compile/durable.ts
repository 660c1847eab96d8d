import type { HirActivity, HirBlock, HirExpression, HirProcess, HirSpan, HirType } from '@svc/contracts'
import { callOptions } from '../../workflows/call-options.ts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP, type Machine } from '../machine.ts'
import { Tagged, type Value } from '../value.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'
import { callOfUnit } from './calls.ts'
import { type FunctionUnit, returnedBy } from './functions.ts'

/** Makes a function an activity: a call inside a workflow run is a step of that run. */
export function makeActivity(
  machine: Machine,
  unit: FunctionUnit,
  { name, return_type }: HirActivity,
  declared: Eval | null
): void {
  const { run, params } = unit
  const isResult = isResultType(return_type)
  const kind = name.startsWith('mesh_') ? 'mesh' : 'activity'
  unit.run = frame => {
    const callerOptions = machine.options
    machine.options = null
    const { workflow } = machine
    if (workflow === null) return run(frame)
    const options = callOptions(kind, name, [declared === null ? null : declared(frame), callerOptions])
    const args = frame.slice(0, params.length)
    return workflow.activity({
      name,
      options,
      params,
      args: args as Value[],
      isResult,
      run: () => runBody(machine, unit, run, args)
    })
  }
}

/** Makes a function a workflow: a call starts a run and waits for its end. */
export function makeWorkflow(machine: Machine, unit: FunctionUnit, { name, body }: HirProcess, steps: StepNames): void {
  const { run, params } = unit
  machine.workflows?.define({
    name,
    plannedSteps: countSteps(body, steps),
    params: params.length,
    run: args => runBody(machine, unit, run, args)
  })
  unit.run = frame => {
    const callerOptions = machine.options
    machine.options = null
    const { workflows } = machine
    if (workflows === null) return fail('RUN_UNSUPPORTED', `the workflow ${name} cannot be run here`, unit.at)
    return workflows.call(name, frame.slice(0, params.length), callOptions('workflow', name, [callerOptions]))
  }
}

/** Compiles non-deterministic code, which fails inside a workflow body. */
export function outsideOfWorkflows({ machine }: BodyCompiler, label: string, at: number, run: Eval): Eval {
  return frame => {
    machine.workflow?.refuse(label, at)
    return run(frame)
  }
}

/** Compiles `f(a) with { … }`. Of nested `with` records, the inner one wins. */
export function compileWith(
  body: BodyCompiler,
  [operand, options, { start: at }]: readonly [HirExpression, HirExpression, HirSpan]
): Eval {
  const records = [body.value(options)]
  let inner = operand
  while ('With' in inner) {
    records.push(body.value(inner.With[1]))
    inner = inner.With[0]
  }
  const unit = calledUnit(body, inner)
  if (unit === null || !('Call' in inner))
    return unsupported('`with` after an expression that is not a call of an activity or a workflow', at)
  const [first] = records
  const merged: Eval =
    records.length === 1 && first !== undefined
      ? first
      : frame => {
          const entries = records.flatMap(record => {
            const value = record(frame)
            return value instanceof Map ? [...(value as ReadonlyMap<string, Value>)] : []
          })
          return new Map(entries)
        }
  return callOfUnit(body, unit, inner.Call[1], at, merged)
}

function calledUnit(body: BodyCompiler, expression: HirExpression): FunctionUnit | null {
  if (!('Call' in expression) || !('Ident' in expression.Call[0])) return null
  const [name] = expression.Call[0].Ident
  if (body.scope.lookup(name) !== undefined) return null
  const unit = body.names.function(name)
  return unit?.takesOptions === true ? unit : null
}

/** Prefix of a tag that records how a block ended: by return, break or continue. No program can create it. */
const JUMP_TAG = 'left by '

/** Compiles `side_effect { … }`: a step in a workflow, a plain block elsewhere. */
export function compileSideEffect(body: BodyCompiler, statements: HirBlock, at: number): Eval {
  const { machine } = body
  const assigned = assignedOutside(statements)
  const [run, jumps] = body.trackJumps(() => body.catchJumps(() => body.block(statements)))
  body.jumps ||= jumps
  return frame => {
    const { workflow } = machine
    if (workflow === null) return run(frame)
    if (assigned !== null) {
      fail(
        'RUN_WORKFLOW_UNREPEATABLE',
        `side_effect records its value, but not assignments to ${assigned}; write ${assigned} = side_effect { … }`,
        at
      )
    }
    const outcome = workflow.sideEffect(() => {
      const value = run(frame)
      if (value !== JUMP) return value
      return new Tagged(JUMP_TAG + machine.jump, machine.jump === 'return' ? [machine.returned] : [])
    })
    if (!(outcome instanceof Tagged) || !outcome.tag.startsWith(JUMP_TAG)) return outcome
    machine.jump = outcome.tag.slice(JUMP_TAG.length) as Machine['jump']
    machine.returned = outcome.fields[0] ?? null
    return JUMP
  }
}

/** Returns a variable that the statements assign but do not declare; null if there is none. */
function assignedOutside(statements: HirBlock): string | null {
  const declared = new Set<string>()
  const targets: string[] = []
  walk(statements, (key, value) => {
    if (key === 'Let') {
      walk((value as { readonly pattern: unknown }).pattern, (inner, name) => {
        if (inner === 'Ident') declared.add(String((name as readonly unknown[])[0]))
      })
    }
    if (key === 'Assign') targets.push(rootName((value as { readonly target: HirExpression }).target))
  })
  return targets.find(name => name !== '' && !declared.has(name)) ?? null
}

function rootName(target: HirExpression): string {
  if ('Ident' in target) return target.Ident[0]
  if ('FieldAccess' in target) return rootName(target.FieldAccess[0])
  return 'Index' in target ? rootName(target.Index[0]) : ''
}

export type StepNames = ReadonlySet<string>

/** Counts the steps in the source of a workflow. */
function countSteps(body: HirBlock, names: StepNames): number {
  let count = 0
  walk(body, (key, value) => {
    if (key === 'SideEffect') count++
    if (key !== 'Call') return
    const [callee] = value as readonly [HirExpression]
    if ('Ident' in callee && names.has(callee.Ident[0])) count++
  })
  return count
}

function walk(node: unknown, visit: (key: string, value: unknown) => void): void {
  if (Array.isArray(node)) for (const item of node) walk(item, visit)
  else if (typeof node === 'object' && node !== null) {
    for (const [key, value] of Object.entries(node)) {
      visit(key, value)
      walk(value, visit)
    }
  }
}

/** Runs the body of a function with these arguments. */
export function runBody(machine: Machine, unit: FunctionUnit, run: Eval, args: readonly Value[]): Value {
  const frame: CallFrame = new Array(unit.size)
  for (let index = 0; index < args.length; index++) frame[index] = args[index] as Value
  const value = run(frame)
  return value === JUMP ? returnedBy(machine, unit, unit.at) : value
}

export function isResultType(type: HirType | null): boolean {
  if (type === null) return true
  if (typeof type !== 'object') return false
  return ('Generic' in type && type.Generic[0] === 'Result') || ('Named' in type && type.Named === 'Result')
}
