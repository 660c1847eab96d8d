import { type Hir, walkHir } from '@svc/contracts'
import type { Expression, MachineState, Param, StateMachine, Transition } from '../syntax/ast.ts'
import type { CodeLowering } from './code.ts'
import type { BodyLowering } from './lower-body.ts'
import { lowerType } from './lower-types.ts'

/** Lowers a state machine, whose transitions name states of it. */
export function lowerMachine(machine: StateMachine, code: CodeLowering): Hir.Machine {
  const states = machine.items.filter(item => item.kind === 'MachineState')
  return {
    name: machine.name.text,
    states: states.map(({ name, isTerminal, params }) => ({ name: name.text, isTerminal, fields: fieldsOf(params) })),
    transitions: machine.items.flatMap(item => {
      if (item.kind !== 'Transition') return []
      const target = states.find(({ name }) => name.text === item.target.text)
      return target === undefined ? [] : [lowerTransition(item, machine, target, code)]
    })
  }
}

function fieldsOf(params: readonly Param[]): Hir.MachineField[] {
  return params.map(({ name, type }) => ({ name: name.text, annotation: type === null ? null : lowerType(type) }))
}

function lowerTransition(
  transition: Transition,
  machine: StateMachine,
  { params }: MachineState,
  code: CodeLowering
): Hir.Transition {
  const { event, from, target, targetArgs } = transition
  const { module } = code
  const isAny = from.text === 'any' || from.text === '_'
  return {
    event: event.text,
    fields: fieldsOf(transition.params),
    from: isAny ? null : from.text,
    target: { name: target.text, ...module.span(target) },
    ...code.outside(lowering => {
      const reads = [...stateReads(transition, lowering), ...eventReads(transition, machine, lowering)]
      const known = new Set(reads.map(({ local }) => local))
      const count = lowering.scope.locals.length
      const isUnknown = (local: Hir.LocalId): boolean => local < count && !known.has(local)
      const values = params.map(({ name }, index) => {
        const written = targetArgs?.[index]
        const value = written === undefined ? readOf(name.text, transition, lowering) : lowering.value(written)
        return value === null || readsAny(value, isUnknown) ? null : value
      })
      return { reads, values }
    })
  }
}

/** Declares the names that a transition gives the fields of its state. */
function stateReads({ from, fromArgs }: Transition, { module, scope }: BodyLowering): Hir.TransitionRead[] {
  const state = module.variant(from.text)
  return (fromArgs ?? []).flatMap((bound: Expression, index): Hir.TransitionRead[] => {
    if (bound.kind !== 'Identifier') return []
    const field = state?.fields[index]
    const local = scope.declare(bound.name, field === undefined ? module.types.any : module.types.of(field.type))
    return field === undefined ? [] : [{ local, of: 'state', field: field.name }]
  })
}

/** Declares the fields of the event, which hide fields of the state with the same name. */
function eventReads(
  transition: Transition,
  machine: StateMachine,
  { module, scope }: BodyLowering
): Hir.TransitionRead[] {
  const types = module.typed.paramTypes(machine, transition)
  return transition.params.map(({ name }, index) => {
    const type = types[index]
    const local = scope.declare(name.text, type === undefined ? module.types.any : module.types.of(type))
    return { local, of: 'event', field: name.text }
  })
}

/** Returns the field of the event or of the state that has the name of a field of the target. */
function readOf(name: string, { target }: Transition, { module, scope }: BodyLowering): Hir.LocalRead | null {
  const bound = scope.lookup(name)
  const found = bound?.kind === 'local' ? scope.locals[bound.local] : undefined
  if (bound?.kind !== 'local' || found === undefined) return null
  return { kind: 'Local', local: bound.local, type: found.type, ...module.span(target) }
}

/** True if a value reads a variable that fulfils a condition. */
function readsAny(value: Hir.Expr, isWanted: (local: Hir.LocalId) => boolean): boolean {
  let isFound = false
  walkHir(value, node => {
    if (node.kind === 'Local' && isWanted(node.local)) isFound = true
    return !isFound
  })
  return isFound
}
