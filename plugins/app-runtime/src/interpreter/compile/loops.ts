import type { Hir } from '@svc/contracts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { jsonValue } from '../json.ts'
import { type CallFrame, type Eval, JUMP } from '../machine.ts'
import { truth } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { isList, isRecord, Json, Tuple, type Value } from '../value.ts'
import { type BodyCompiler, bindVariable } from './body-compiler.ts'
import { compilePattern } from './patterns.ts'

export function compileWhile(body: BodyCompiler, { condition, body: block, start: at }: Hir.While): Eval {
  const test = body.value(condition)
  return repeated(body, frame => truth(test(frame), at), block, at)
}

export function compileLoop(body: BodyCompiler, { body: block, start }: Hir.Loop): Eval {
  return repeated(body, () => true, block, start)
}

function repeated(body: BodyCompiler, test: (frame: CallFrame) => boolean, block: Hir.Block, at: number): Eval {
  const { machine } = body
  const before = body.weight
  // Each iteration charges 2 steps for loop and condition. The enclosing block charges the last check.
  body.weight = 2
  const [run, jumps] = body.trackJumps(() => body.catchJumps(() => body.statements(block, true)))
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

/**
 * Compiles `for`. Its value is the list of body values, without iterations ended by `continue` or `break`. The key of an
 * element is ignored: only browsers use it.
 */
export function compileFor(body: BodyCompiler, node: Hir.For, isDiscarded: boolean): Eval {
  const { machine } = body
  const { start: at } = node
  const values = body.value(node.iterable)
  const bind = compilePattern(body, node.binding)
  const bindIndex = node.index === null ? null : bindVariable(body.frame.declare(node.index))
  const run = body.catchJumps(() => body.metered(() => body.statement(node.body, isDiscarded), at))
  return frame => {
    const list = elements(values(frame), at)
    const results: Value[] = []
    for (let index = 0; index < list.length; index++) {
      const value = list[index] as Value
      if (!bind(frame, value)) fail('RUN_NO_MATCH', `the pattern does not match ${excerpt(value)}`, at)
      bindIndex?.(frame, index)
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
function elements(value: Value, at: number): readonly Value[] {
  if (isList(value)) return value
  if (typeof value === 'string') return [...value]
  if (isRecord(value)) return Array.from(value, ([key, each]) => new Tuple([key, each]))
  if (value instanceof Json && Array.isArray(value.data)) return value.data.map(each => jsonValue(each, value.isBody))
  return fail('RUN_TYPE', `for needs a List, a str, an Object or a JSON array, found ${typeName(value)}`, at)
}
