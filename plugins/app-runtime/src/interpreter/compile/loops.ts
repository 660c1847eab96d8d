import type { HirBlock, HirExpression, HirPattern, HirSpan } from '@svc/contracts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { jsonValue } from '../json.ts'
import { type CallFrame, type Eval, JUMP } from '../machine.ts'
import { truth } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, Json, Tuple, type Value } from '../value.ts'
import { type BodyCompiler, bindLocal } from './body-compiler.ts'
import { compilePattern } from './patterns.ts'

interface WhileStatement {
  readonly condition: HirExpression
  readonly body: HirBlock
  readonly span: HirSpan
}

export function compileWhile(body: BodyCompiler, { condition, body: statements, span }: WhileStatement): Eval {
  const test = body.value(condition)
  return repeated(body, frame => truth(test(frame), span.start), statements, span.start)
}

export function compileLoop(body: BodyCompiler, { body: statements, span }: Omit<WhileStatement, 'condition'>): Eval {
  return repeated(body, () => true, statements, span.start)
}

function repeated(body: BodyCompiler, test: (frame: CallFrame) => boolean, statements: HirBlock, at: number): Eval {
  const { machine } = body
  const before = body.weight
  // Each iteration charges 2 steps for loop and condition. The enclosing block charges the last check.
  body.weight = 2
  body.scope.enter()
  const [run, jumps] = body.trackJumps(() => body.catchJumps(() => body.forms.sequence(body, statements, true)))
  body.scope.leave()
  const { weight } = body
  body.weight = before
  return frame => {
    while (test(frame)) {
      machine.fuel -= weight
      if (machine.fuel < 0) machine.refuel(at)
      if (run(frame) === JUMP && jumps) {
        if (machine.jump === 'break') break
        if (machine.jump === 'return') return JUMP
      }
    }
    return null
  }
}

/** Compiles `for`. Its value is the list of body values, without iterations ended by `continue` or `break`. */
export function compileFor(
  body: BodyCompiler,
  [binding, iterable, repeats, span]: readonly [string, HirExpression, HirExpression, HirSpan],
  isDiscarded: boolean
): Eval {
  const values = body.value(iterable)
  body.scope.enter()
  const bind = bindLocal(body.scope.declare(binding, span))
  const run = turn(body, repeats, span.start, (frame, value) => bind(frame, value), isDiscarded)
  body.scope.leave()
  return frame => run(frame, values(frame))
}

interface ForEachExpression {
  readonly binding: HirPattern
  readonly index: string | null
  readonly iterable: HirExpression
  readonly body: HirExpression
  readonly span: HirSpan
}

/** Compiles `for each`. The key of an element is ignored: only browsers use it. */
export function compileForEach(body: BodyCompiler, each: ForEachExpression, isDiscarded: boolean): Eval {
  const values = body.value(each.iterable)
  const { start } = each.span
  body.scope.enter()
  const bind = compilePattern(body, each.binding, false)
  const bindIndex = each.index === null ? null : bindLocal(body.scope.declare(each.index, each.span))
  const run = turn(
    body,
    each.body,
    start,
    (frame, value, index) => {
      if (!bind(frame, value)) fail('RUN_NO_MATCH', `the pattern does not match ${excerpt(value)}`, start)
      bindIndex?.(frame, index)
    },
    isDiscarded
  )
  body.scope.leave()
  return frame => run(frame, values(frame))
}

function turn(
  body: BodyCompiler,
  repeats: HirExpression,
  at: number,
  bind: (frame: CallFrame, value: Value, index: number) => void,
  isDiscarded: boolean
): (frame: CallFrame, over: Value) => Value {
  const { machine } = body
  const run = body.catchJumps(() => body.metered(() => body.statement(repeats, isDiscarded), at))
  return (frame, over) => {
    const results: Value[] = []
    let index = 0
    for (const value of elements(over, at)) {
      bind(frame, value, index++)
      const result = run(frame)
      if (result !== JUMP) {
        if (!isDiscarded) results.push(result)
      } else if (machine.jump === 'return') return JUMP
      else if (machine.jump === 'break') break
    }
    if (isDiscarded) return null
    machine.allocate(16 + 8 * results.length, at)
    return results
  }
}

/** Returns the elements of a list or JSON array, the characters of a str, or the pairs of a record. */
function elements(value: Value, at: number): Iterable<Value> {
  if (isList(value) || typeof value === 'string') return value
  if (isRecord(value)) return Array.from(value, ([key, each]) => new Tuple([key, each]))
  if (value instanceof Json && Array.isArray(value.data)) return value.data.map(each => jsonValue(each, value.isBody))
  return fail('RUN_TYPE', `for needs a List, a str, an Object or a JSON array, found ${typeName(value)}`, at)
}
