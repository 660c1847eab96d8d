import type { Hir } from '@svc/contracts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP } from '../machine.ts'
import { callMethod } from '../methods/call-method.ts'
import { add } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, type Value } from '../value.ts'
import { assignsNothing } from './assigns-nothing.ts'
import { binaryOf } from './binary.ts'
import { type BodyCompiler, cellIn, peekVariable, type Write, writeVariable } from './body-compiler.ts'
import { mayHaveParts, type Variable } from './frame.ts'
import { elementOf, fieldOf, positionOf } from './members.ts'
import { stateIn } from './state.ts'

/** The variable or the state field of a place. */
interface Root {
  /** Reads the value, whose list or record gets no other reference. */
  readonly peek: Eval
  readonly write: Write
  /** Returns the list or record that nothing else refers to. */
  readonly owned: Eval
  readonly own: Write
}

type Step = { readonly field: string } | { readonly index: Eval }

/**
 * Compiles an assignment. Values are immutable: `xs[0] = 1` assigns a new list to `xs`. Each index is evaluated once,
 * from left to right, and then the value.
 */
export function compileUpdate(body: BodyCompiler, update: Hir.Update): Eval {
  const { place, operator, value, start } = update
  const root = rootOf(body, place)
  // A compound assignment also reads its place, and computes.
  if (operator !== null) body.weight += 2
  if (place.path.length > 0) return updatePart(body, root, update)
  const growth = growthOf(update)
  if (growth !== null) return grow(body, root, growth, start)
  const { root: id } = place
  if (operator === 'add' && typeof id === 'number' && isInt(place.type) && isInt(value.type)) {
    const variable = body.frame.variable(id)
    if (!variable.isCell) return addToInt(variable, body.value(value), start)
  }
  if (operator !== null) {
    const changed = binaryOf(
      body,
      operator,
      { run: assignsNothing(value) ? root.peek : disowned(root), type: place.type },
      { run: body.value(value), type: value.type },
      start
    )
    return frame => {
      root.write(frame, changed(frame))
      return null
    }
  }
  const [run, jumps] = body.trackJumps(() => body.statement(value))
  return frame => {
    const assigned = run(frame)
    if (jumps && assigned === JUMP) return JUMP
    root.write(frame, assigned)
    return null
  }
}

/** Returns the read of a value that the code after it may replace, but must not change. */
function disowned({ peek, own }: Root): Eval {
  return frame => {
    own(frame, null)
    return peek(frame)
  }
}

/** Compiles `n += m` for ints, which most loops have. */
function addToInt({ slot }: Variable, value: Eval, at: number): Eval {
  return frame => {
    const before = frame[slot] as Value
    const added = value(frame)
    const sum = typeof before === 'number' && typeof added === 'number' ? before + added : Number.NaN
    frame[slot] = Number.isSafeInteger(sum) ? sum : add(before, added, at)
    return null
  }
}

function isInt(type: Hir.Type): boolean {
  return type.kind === 'named' && type.name === 'int'
}

function rootOf({ frame }: BodyCompiler, { root }: Hir.Place): Root {
  if (typeof root === 'number') return variableRoot(frame.variable(root))
  const { state: name } = root
  const { stateSlot } = frame
  return {
    peek: own => stateIn(own, stateSlot).read(name),
    write: (own, value) => void stateIn(own, stateSlot).fields.set(name, value),
    owned: own => stateIn(own, stateSlot).owned.get(name) ?? null,
    own: (own, value) => void stateIn(own, stateSlot).owned.set(name, value)
  }
}

function variableRoot(variable: Variable): Root {
  const { slot, isTracked, isCell, ownerSlot } = variable
  const root = { peek: peekVariable(variable), write: writeVariable(variable) }
  if (!isTracked) return { ...root, owned: () => null, own: () => undefined }
  if (isCell) {
    return {
      ...root,
      owned: frame => cellIn(frame, slot).owned,
      own: (frame, value) => {
        cellIn(frame, slot).owned = value
      }
    }
  }
  return {
    ...root,
    owned: frame => frame[ownerSlot] as Value,
    own: (frame, value) => {
      frame[ownerSlot] = value
    }
  }
}

/** Compiles an assignment to a part of a variable. */
function updatePart(body: BodyCompiler, root: Root, { place, operator, value, start: at }: Hir.Update): Eval {
  const { machine } = body
  const steps = place.path.map((step): Step => {
    body.weight++
    return 'field' in step ? step : { index: body.value(step.index) }
  })
  const last = steps.length - 1
  const operand = body.value(value)
  const previous = operator === null ? -1 : body.frame.temporary()
  const changed =
    operator === null
      ? operand
      : binaryOf(
          body,
          operator,
          { run: frame => frame[previous] as Value, type: place.type },
          { run: operand, type: value.type },
          at
        )
  return frame => {
    const keys = steps.map(step => ('field' in step ? step.field : step.index(frame)))
    if (previous >= 0) {
      let part = root.peek(frame)
      for (let depth = 0; depth <= last; depth++) part = partOf(part, steps[depth] as Step, keys[depth] as Value, at)
      frame[previous] = part
    }
    let assigned = changed(frame)
    // The value may have changed the variable.
    const wholes = [root.peek(frame)]
    for (let depth = 0; depth < last; depth++) {
      wholes.push(partOf(wholes[depth] as Value, steps[depth] as Step, keys[depth] as Value, at))
    }
    const isOwned = root.owned(frame) === wholes[0]
    for (let depth = last; depth >= 0; depth--) {
      const whole = wholes[depth] as Value
      const isInPlace = depth === 0 && isOwned
      if (!isInPlace) machine.allocate(sizeOf(whole), at)
      assigned = withPart(whole, steps[depth] as Step, keys[depth] as Value, assigned, isInPlace, at)
    }
    root.write(frame, assigned)
    root.own(frame, assigned)
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
  readonly items: readonly Hir.Expr[]
  /** True for `+=`, which a str accepts, too. */
  readonly isAddition: boolean
}

/** Returns the elements that `xs = xs.push(a)` or `xs += [a, b]` add to a list; null for other assignments. */
function growthOf({ place, operator, value }: Hir.Update): Growth | null {
  if (!mayHaveParts(place.type)) return null
  if (operator === 'add') return value.kind === 'List' ? { items: value.items, isAddition: true } : null
  if (operator !== null) return null
  const receiver = pushReceiver(value)
  return receiver !== null && isRoot(receiver, place.root)
    ? { items: (value as Hir.CallNative).args, isAddition: false }
    : null
}

/** Returns the list of `xs.push(a)`; null for other expressions. */
function pushReceiver(value: Hir.Expr): Hir.Expr | null {
  if (value.kind === 'CallNative')
    return isPush(value.native.slice(value.native.indexOf('.') + 1), value) ? value.receiver : null
  return value.kind === 'CallMethod' && isPush(value.method, value) ? value.receiver : null
}

function isPush(method: string, { args }: Pick<Hir.CallMethod, 'args'>): boolean {
  return (method === 'push' || method === 'append') && args.length === 1
}

function isRoot(node: Hir.Expr, root: Hir.Place['root']): boolean {
  if (node.kind === 'Local') return node.local === root
  return node.kind === 'State' && typeof root === 'object' && node.field === root.state
}

/** Owned by a variable while its next elements are evaluated. */
const HELD: Value = []

/** Compiles the addition of elements to a variable's list, which is copied only if something else refers to it. */
function grow(body: BodyCompiler, root: Root, { items, isAddition }: Growth, at: number): Eval {
  const values = items.map(item => body.value(item))
  const isCalm = items.every(assignsNothing)
  const { machine } = body
  return (frame: CallFrame) => {
    const list = root.peek(frame)
    const isOwned = root.owned(frame) === list
    // The elements may read or change the variable, but must not change the list that was read before.
    if (isOwned && !isCalm) root.own(frame, HELD)
    const added = values.map(value => value(frame))
    if (!isList(list)) {
      if (isAddition) root.write(frame, add(list, added, at))
      else for (const value of added) root.write(frame, callMethod(machine, list, 'push', [value], at))
      return null
    }
    machine.allocate(8 * added.length, at)
    if (isOwned && root.owned(frame) === (isCalm ? list : HELD)) {
      for (const value of added) (list as Value[]).push(value)
      root.own(frame, list)
      return null
    }
    machine.allocate(16 + 8 * list.length, at)
    machine.charge(list.length >> 6)
    const copy = [...list, ...added]
    root.write(frame, copy)
    root.own(frame, copy)
    return null
  }
}
