import { type Hir, unreachable } from '@svc/contracts'
import { excerpt } from '../display.ts'
import { fail } from '../failure.ts'
import { type Eval, JUMP } from '../machine.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { compileLoop, compileWhile } from './loops.ts'
import { compilePattern } from './patterns.ts'
import { compileUpdate } from './update.ts'

/** Compiles statements. Their value is that of the last one if it is an expression, else null. */
export function compileBlock(body: BodyCompiler, block: Hir.Block, isDiscarded: boolean): Eval {
  const last = isDiscarded ? undefined : block.at(-1)
  const parts = block.map(statement => body.trackJumps(() => compileStatement(body, statement, statement !== last)))
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

function compileStatement(body: BodyCompiler, statement: Hir.Stmt, isDiscarded: boolean): Eval {
  if (statement.kind === 'Expr') return body.statement(statement.value, isDiscarded)
  body.weight++
  switch (statement.kind) {
    case 'Let':
      return compileLet(body, statement)
    case 'Update':
      return compileUpdate(body, statement)
    case 'Return':
      return compileReturn(body, statement)
    case 'While':
      return compileWhile(body, statement)
    case 'Loop':
      return compileLoop(body, statement)
    case 'Break':
      return compileJump(body, 'break')
    case 'Continue':
      return compileJump(body, 'continue')
    default:
      return unreachable(statement)
  }
}

function compileLet(body: BodyCompiler, { pattern, value, start }: Hir.Let): Eval {
  // A `?` around the whole value can return JUMP, which is cheaper than to throw it.
  const [run, jumps] = body.trackJumps(() => body.statement(value))
  const bind = compilePattern(body, pattern)
  return frame => {
    const bound = run(frame)
    if (jumps && bound === JUMP) return JUMP
    if (!bind(frame, bound)) fail('RUN_NO_MATCH', `the pattern does not match ${excerpt(bound)}`, start)
    return null
  }
}

function compileReturn(body: BodyCompiler, { value }: Hir.Return): Eval {
  const { machine } = body
  const [run, jumps] = body.trackJumps(() => (value === null ? () => null : body.statement(value)))
  body.jumps = true
  return frame => {
    const returned = run(frame)
    if (jumps && returned === JUMP) return JUMP
    machine.returned = returned
    machine.jump = 'return'
    return JUMP
  }
}

function compileJump(body: BodyCompiler, jump: 'break' | 'continue'): Eval {
  const { machine } = body
  body.jumps = true
  return () => {
    machine.jump = jump
    return JUMP
  }
}
