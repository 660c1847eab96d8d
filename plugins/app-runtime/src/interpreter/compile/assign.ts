import type { HirExpression, HirSpan } from '@svc/contracts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, type Value } from '../value.ts'
import { type BodyCompiler, writeLocal } from './body-compiler.ts'
import { positionOf } from './members.ts'

interface Assignment {
  readonly target: HirExpression
  readonly value: HirExpression
  readonly span: HirSpan
}

/** Compiles an assignment. Values are immutable: `xs[0] = 1` assigns a new list to `xs`. */
export function compileAssign(body: BodyCompiler, { target, value, span }: Assignment): Eval {
  const [run, jumps] = body.trackJumps(() => body.statement(value))
  const write = writer(body, target, span.start)
  return frame => {
    const assigned = run(frame)
    if (jumps && assigned === JUMP) return JUMP
    write(frame, assigned)
    return null
  }
}

function writer(body: BodyCompiler, target: HirExpression, at: number): (frame: CallFrame, value: Value) => void {
  if ('Ident' in target) {
    const [name] = target.Ident
    const local = body.scope.lookup(name)
    return local === undefined ? () => fail('RUN_UNDEFINED', `there is no variable ${name}`, at) : writeLocal(local)
  }
  if ('FieldAccess' in target) {
    const [object, field] = target.FieldAccess
    const whole = body.value(object)
    const write = writer(body, object, at)
    return (frame, value) => {
      const record = whole(frame)
      if (!isRecord(record)) fail('RUN_TYPE', `${typeName(record)} has no field ${field} to assign to`, at)
      body.machine.allocate(32 * record.size, at)
      write(frame, new Map(record).set(field, value))
    }
  }
  if ('Index' in target) {
    const [object, index] = target.Index
    const whole = body.value(object)
    const position = body.value(index)
    const write = writer(body, object, at)
    return (frame, value) => write(frame, replaced(body, whole(frame), position(frame), value, at))
  }
  return () => fail('RUN_TYPE', 'only variables, fields and elements can be assigned', at)
}

function replaced(body: BodyCompiler, whole: Value, index: Value, value: Value, at: number): Value {
  if (isRecord(whole) && typeof index === 'string') {
    body.machine.allocate(32 * whole.size, at)
    return new Map(whole).set(index, value)
  }
  if (!isList(whole)) return fail('RUN_TYPE', `${typeName(whole)} has no element to assign to`, at)
  body.machine.allocate(8 * whole.length, at)
  return whole.with(positionOf(whole.length, index, at), value)
}
