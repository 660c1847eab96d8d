import type { HirBlock, HirExpression, HirMatchArm, HirSpan, HirStatement } from '@svc/contracts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { type Eval, JUMP } from '../machine.ts'
import { truth } from '../operators.ts'
import { typeName } from '../type-name.ts'
import { Tagged } from '../value.ts'
import { compileAssign } from './assign.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { compileLoop, compileWhile } from './loops.ts'
import { compilePattern } from './patterns.ts'

/** Compiles statements. Their value is that of the last one if it is an expression, else null. */
export function sequence(body: BodyCompiler, statements: HirBlock, isDiscarded = false): Eval {
  const last = isDiscarded ? undefined : statements.at(-1)
  const parts = statements.map(statement => {
    return body.trackJumps(() => compileStatement(body, statement, statement !== last))
  })
  const [first, second] = parts
  if (first === undefined) return () => null
  const [runFirst, firstJumps] = first
  if (parts.length === 1) return runFirst
  if (parts.length === 2 && second !== undefined) {
    const [runSecond] = second
    if (!firstJumps) {
      return frame => {
        runFirst(frame)
        return runSecond(frame)
      }
    }
    return frame => (runFirst(frame) === JUMP ? JUMP : runSecond(frame))
  }
  const runs = parts.map(([run]) => run)
  const final = runs.pop() as Eval
  if (parts.slice(0, -1).every(([, jumps]) => !jumps)) {
    return frame => {
      for (let at = 0; at < runs.length; at++) (runs[at] as Eval)(frame)
      return final(frame)
    }
  }
  return frame => {
    for (let at = 0; at < runs.length; at++) {
      if ((runs[at] as Eval)(frame) === JUMP) return JUMP
    }
    return final(frame)
  }
}

function compileStatement(body: BodyCompiler, statement: HirStatement, isDiscarded: boolean): Eval {
  const { machine } = body
  if ('Expr' in statement) return body.statement(statement.Expr.expr, isDiscarded)
  body.weight++
  if ('Let' in statement) return compileLet(body, statement.Let)
  if ('Assign' in statement) return compileAssign(body, statement.Assign)
  if ('Return' in statement) {
    const { value } = statement.Return
    const [run, valueJumps] = body.trackJumps(() => (value === null ? () => null : body.statement(value)))
    body.jumps = true
    return frame => {
      const returned = run(frame)
      if (valueJumps && returned === JUMP) return JUMP
      machine.returned = returned
      machine.jump = 'return'
      return JUMP
    }
  }
  if ('While' in statement) return compileWhile(body, statement.While)
  if ('Loop' in statement) return compileLoop(body, statement.Loop)
  const jump = 'Break' in statement ? 'break' : 'continue'
  body.jumps = true
  return () => {
    machine.jump = jump
    return JUMP
  }
}

function compileLet(body: BodyCompiler, { pattern, value, mutable, span }: LetStatement): Eval {
  // A `?` around the whole value can return JUMP, which is cheaper than to throw it.
  const [run, jumps] = body.trackJumps(() => body.statement(value))
  const bind = compilePattern(body, pattern, mutable)
  return frame => {
    const bound = run(frame)
    if (jumps && bound === JUMP) return JUMP
    if (!bind(frame, bound)) fail('RUN_NO_MATCH', `the pattern does not match ${excerpt(bound)}`, span.start)
    return null
  }
}

type LetStatement = Extract<HirStatement, { readonly Let: unknown }>['Let']

export function compileIf(
  body: BodyCompiler,
  [condition, then, other, { start: at }]: readonly [HirExpression, HirBlock, HirBlock | null, HirSpan]
): Eval {
  const test = body.value(condition)
  const first = body.block(then)
  if (other === null) {
    return frame => {
      const isTrue = test(frame)
      if (isTrue === false || !truth(isTrue, at)) return null
      return first(frame) === JUMP ? JUMP : null
    }
  }
  const second = body.block(other)
  return frame => {
    const isTrue = test(frame)
    if (isTrue === true) return first(frame)
    return isTrue === false || !truth(isTrue, at) ? second(frame) : null
  }
}

export function compileMatch(
  body: BodyCompiler,
  [subject, arms, { start: at }]: readonly [HirExpression, readonly HirMatchArm[], HirSpan]
): Eval {
  const value = body.value(subject)
  const compiled = arms.map(arm => {
    body.scope.enter()
    const bind = compilePattern(body, arm.pattern, false)
    const guard = arm.guard === null ? null : body.value(arm.guard)
    const run = body.metered(() => body.statement(arm.body))
    body.scope.leave()
    return { bind, guard, run, at: arm.span.start }
  })
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
export function compileTry(body: BodyCompiler, target: HirExpression, at: number): Eval {
  const run = body.value(target)
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
