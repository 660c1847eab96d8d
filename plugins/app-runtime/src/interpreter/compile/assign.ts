import type { HirArgument, HirBinaryOperator, HirExpression, HirSpan } from '@svc/contracts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP } from '../machine.ts'
import { callMethod } from '../methods/call-method.ts'
import { add } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, type Value } from '../value.ts'
import { binaryOf } from './binary.ts'
import { type BodyCompiler, peekLocal, writeLocal } from './body-compiler.ts'
import { elementOf, fieldOf, positionOf } from './members.ts'
import type { Local } from './scope.ts'

interface Assignment {
  readonly target: HirExpression
  readonly value: HirExpression
  readonly span: HirSpan
}

/** Part of a record or a list in the target of an assignment: a field, or the element at an index. */
type Step = { readonly field: string } | { readonly index: Eval }

interface Place {
  readonly root: Local
  readonly steps: readonly Step[]
}

/**
 * Compiles an assignment. Values are immutable: `xs[0] = 1` assigns a new list to `xs`. Each index is evaluated once,
 * from left to right, and then the value.
 */
export function compileAssign(body: BodyCompiler, { target, value, span: { start: at } }: Assignment): Eval {
  const place = placeOf(body, target)
  if (typeof place === 'string') return () => fail('RUN_UNDEFINED', `there is no variable ${place}`, at)
  if (place === null) return () => fail('RUN_TYPE', 'only variables, fields and elements can be assigned', at)
  const { root, steps } = place
  if (steps.length > 0) return assignPart(body, place, changeOf(target, value), value, at)
  const growth = growthOf(root, target, value)
  if (growth !== null) {
    body.scope.changes(root)
    if (root.ownerSlot >= 0) return grow(body, root, growth, at)
  }
  const [run, jumps] = body.trackJumps(() => body.statement(value))
  const write = writeLocal(root)
  return frame => {
    const assigned = run(frame)
    if (jumps && assigned === JUMP) return JUMP
    write(frame, assigned)
    return null
  }
}

/** Returns the name of the variable if it does not exist, and null if the target cannot be assigned. */
function placeOf(body: BodyCompiler, target: HirExpression): Place | string | null {
  if ('Ident' in target) {
    const [name] = target.Ident
    const root = body.scope.lookup(name)
    return root === undefined ? name : { root, steps: [] }
  }
  const object = 'FieldAccess' in target ? target.FieldAccess[0] : 'Index' in target ? target.Index[0] : null
  const outer = object === null ? null : placeOf(body, object)
  if (outer === null || typeof outer === 'string') return outer
  body.weight++
  const step =
    'Index' in target
      ? { index: body.value(target.Index[1]) }
      : 'FieldAccess' in target
        ? { field: target.FieldAccess[1] }
        : null
  return step === null ? null : { root: outer.root, steps: [...outer.steps, step] }
}

interface Change {
  readonly operator: HirBinaryOperator
  readonly operand: HirExpression
}

/** Returns the change of a compound assignment, whose value has its target as an operand; null for others. */
function changeOf(target: HirExpression, value: HirExpression): Change | null {
  if (!('Binary' in value) || value.Binary[1] !== target) return null
  const [operator, , operand] = value.Binary
  return { operator, operand }
}

/** Compiles an assignment to a part of a variable. */
function assignPart(
  body: BodyCompiler,
  { root, steps }: Place,
  change: Change | null,
  value: HirExpression,
  at: number
): Eval {
  const peek = peekLocal(root)
  const write = writeLocal(root)
  const last = steps.length - 1
  body.scope.changes(root)
  const { machine } = body
  const operand = body.value(change === null ? value : change.operand)
  const previous = change === null ? -1 : body.scope.temporary()
  const changed =
    change === null ? operand : binaryOf(body, change.operator, frame => frame[previous] as Value, operand, at)
  return frame => {
    const keys = steps.map(step => ('field' in step ? step.field : step.index(frame)))
    if (previous >= 0) {
      let part = peek(frame)
      for (let depth = 0; depth <= last; depth++) part = partOf(part, steps[depth] as Step, keys[depth] as Value, at)
      frame[previous] = part
    }
    let assigned = changed(frame)
    // The value may have changed the variable.
    const wholes = [peek(frame)]
    for (let depth = 0; depth < last; depth++) {
      wholes.push(partOf(wholes[depth] as Value, steps[depth] as Step, keys[depth] as Value, at))
    }
    const isOwned = root.ownerSlot >= 0 && frame[root.ownerSlot] === wholes[0]
    for (let depth = last; depth >= 0; depth--) {
      const whole = wholes[depth] as Value
      const isInPlace = depth === 0 && isOwned
      if (!isInPlace) machine.allocate(sizeOf(whole), at)
      assigned = withPart(whole, steps[depth] as Step, keys[depth] as Value, assigned, isInPlace, at)
    }
    write(frame, assigned)
    if (root.ownerSlot >= 0) frame[root.ownerSlot] = assigned
    return null
  }
}

function partOf(whole: Value, step: Step, key: Value, at: number): Value {
  return 'field' in step ? fieldOf(whole, step.field, at) : elementOf(whole, key, at)
}

function sizeOf(whole: Value): number {
  return isList(whole) ? 16 + 8 * whole.length : isRecord(whole) ? 32 * whole.size : 0
}

/** Returns a list or a record with another part: a copy, or itself if it may be changed in place. */
function withPart(whole: Value, step: Step, key: Value, value: Value, isInPlace: boolean, at: number): Value {
  if (isRecord(whole) && typeof key === 'string') {
    const record = isInPlace ? (whole as Map<string, Value>) : new Map(whole)
    return record.set(key, value)
  }
  if ('field' in step) return fail('RUN_TYPE', `${typeName(whole)} has no field ${step.field} to assign to`, at)
  if (!isList(whole)) return fail('RUN_TYPE', `${typeName(whole)} has no element to assign to`, at)
  const position = positionOf(whole.length, key, at)
  if (!isInPlace) return whole.with(position, value)
  ;(whole as Value[])[position] = value
  return whole
}

interface Growth {
  readonly items: readonly HirExpression[]
  /** True for `+=`, which a str accepts, too. */
  readonly isAddition: boolean
}

/** Returns the elements that `xs = xs.push(a)` or `xs += [a, b]` add to a list; null for other assignments. */
function growthOf({ name }: Local, target: HirExpression, value: HirExpression): Growth | null {
  if ('MethodCall' in value) {
    const [object, method, args] = value.MethodCall
    const [only] = args
    const isPush = (method === 'push' || method === 'append') && args.length === 1 && only?.name === null
    return isPush && 'Ident' in object && object.Ident[0] === name
      ? { items: [(only as HirArgument).value], isAddition: false }
      : null
  }
  const change = changeOf(target, value)
  return change?.operator === 'Add' && 'ListLit' in change.operand
    ? { items: change.operand.ListLit[0], isAddition: true }
    : null
}

/** Compiles the addition of elements to a variable's list, which is copied only if something else refers to it. */
function grow(body: BodyCompiler, { slot, ownerSlot }: Local, { items, isAddition }: Growth, at: number): Eval {
  const values = items.map(item => body.value(item))
  const { machine } = body
  return (frame: CallFrame) => {
    const list = frame[slot] as Value
    const added = values.map(value => value(frame))
    if (!isList(list)) {
      if (isAddition) frame[slot] = add(list, added, at)
      else for (const value of added) frame[slot] = callMethod(machine, list, 'push', [value], at)
      return null
    }
    machine.allocate(8 * added.length, at)
    if (frame[ownerSlot] === list) {
      for (const value of added) (list as Value[]).push(value)
      frame[slot] = list
      return null
    }
    machine.allocate(16 + 8 * list.length, at)
    machine.charge(list.length >> 6)
    const copy = [...list, ...added]
    frame[slot] = copy
    frame[ownerSlot] = copy
    return null
  }
}
