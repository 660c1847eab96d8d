import type { Hir } from '@svc/contracts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { type Eval, JUMP } from '../machine.ts'
import { truth } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { Tagged } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { compileAlternatives } from './patterns.ts'

export function compileIf(
  body: BodyCompiler,
  { condition, then, otherwise, start: at }: Hir.If,
  isDiscarded: boolean
): Eval {
  const test = body.value(condition)
  const first = body.block(then, isDiscarded)
  if (otherwise === null) {
    return frame => {
      const isTrue = test(frame)
      if (isTrue === false || !truth(isTrue, at)) return null
      return first(frame) === JUMP ? JUMP : null
    }
  }
  const second = body.block(otherwise, isDiscarded)
  return frame => {
    const isTrue = test(frame)
    if (isTrue === true) return first(frame)
    return isTrue === false || !truth(isTrue, at) ? second(frame) : null
  }
}

export function compileMatch(body: BodyCompiler, { subject, arms, start: at }: Hir.Match, isDiscarded: boolean): Eval {
  const value = body.value(subject)
  const compiled = arms.map(({ patterns, guard, body: of, start }) => ({
    bind: compileAlternatives(body, patterns),
    guard: guard === null ? null : body.value(guard),
    run: body.metered(() => body.statement(of, isDiscarded)),
    at: start
  }))
  return frame => {
    const matched = value(frame)
    for (let index = 0; index < compiled.length; index++) {
      const arm = compiled[index] as (typeof compiled)[number]
      if (arm.bind(frame, matched) && (arm.guard === null || truth(arm.guard(frame), arm.at))) return arm.run(frame)
    }
    return fail('RUN_NO_MATCH', `no arm matches ${excerpt(matched)}`, at)
  }
}

/** Compiles `?`: unwraps Ok or Some, and returns Error or None from the function. */
export function compileTry(body: BodyCompiler, { operand, start: at }: Hir.Try): Eval {
  const run = body.value(operand)
  const { machine } = body
  body.jumps = true
  return frame => {
    const value = run(frame)
    if (value instanceof Tagged) {
      if (value.tag === 'Ok' || value.tag === 'Some') return value.fields[0] ?? null
      if (value.tag === 'Error' || value.tag === 'None') {
        machine.returned = value
        machine.jump = 'return'
        return JUMP
      }
    }
    return fail('RUN_TYPE', `? needs a Result or an Option, found ${typeName(value)}`, at)
  }
}
