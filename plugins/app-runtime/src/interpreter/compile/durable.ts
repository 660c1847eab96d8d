import { type Hir, type HirActivity, type HirNode, type HirType, walkHir } from '@svc/contracts'
import { callOptions } from '../../workflows/call-options.ts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP, type Machine } from '../machine.ts'
import { Tagged, type Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { type FunctionUnit, returnedBy } from './functions.ts'
import { localsOf } from './patterns.ts'

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
export function makeWorkflow(machine: Machine, unit: FunctionUnit, name: string, plannedSteps: number): void {
  const { run, params } = unit
  machine.workflows?.define({
    name,
    plannedSteps,
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

/** Prefix of a tag that records how a block ended: by return, break or continue. No program can create it. */
const JUMP_TAG = 'left by '

/** Compiles `side_effect { … }`: a step in a workflow, a plain block elsewhere. */
export function compileSideEffect(body: BodyCompiler, { block, start: at }: Hir.SideEffect): Eval {
  const { machine } = body
  const assigned = assignedOutside(body, block)
  const [run, jumps] = body.trackJumps(() => body.catchJumps(() => body.block(block)))
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

/** Returns the name of a variable that the statements assign but do not declare; null if there is none. */
function assignedOutside({ frame: { locals } }: BodyCompiler, block: Hir.Block): string | null {
  const declared = new Set<Hir.LocalId>()
  const assigned: Hir.Place['root'][] = []
  walkBlock(block, node => {
    for (const local of declaredBy(node)) declared.add(local)
    if (node.kind === 'Update') assigned.push(node.place.root)
  })
  const root = assigned.find(each => typeof each === 'object' || !declared.has(each))
  if (root === undefined) return null
  return typeof root === 'object' ? root.state : (locals[root] as Hir.Local).name
}

/** Returns the variables that a node declares. */
function declaredBy(node: HirNode): readonly Hir.LocalId[] {
  switch (node.kind) {
    case 'Let':
      return localsOf(node.pattern)
    case 'For':
      return node.index === null ? localsOf(node.binding) : [...localsOf(node.binding), node.index]
    case 'Match':
      return node.arms.flatMap(({ patterns }) => patterns.flatMap(localsOf))
    case 'Lambda':
      return node.params
    default:
      return []
  }
}

function walkBlock(block: Hir.Block, visit: (node: HirNode) => void): void {
  for (const statement of block) {
    walkHir(statement, node => {
      visit(node)
      return true
    })
  }
}

/** Counts the steps in the source of a workflow. */
export function countSteps({ block }: Hir.Body, activities: ReadonlySet<string>): number {
  let count = 0
  walkBlock(block, node => {
    if (node.kind === 'SideEffect') count++
    if (node.kind === 'Call' && activities.has(node.name)) count++
    if (node.kind === 'CallNative' && WAITS.has(node.native)) count++
  })
  return count
}

const WAITS: ReadonlySet<string> = new Set(['workflow_wait', 'workflow_wait_signal'])

/** Runs a body with arguments that are already complete. */
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
