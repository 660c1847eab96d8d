import type { HirExpression, HirSpan } from '@svc/contracts'
import { Decimal } from '../decimal.ts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import { negate, truth } from '../operators.ts'
import { Float, Tuple } from '../value.ts'
import { compileBinary } from './binary.ts'
import { type BodyCompiler, constant, type Forms, readLocal, unsupported } from './body-compiler.ts'
import { compileCall, compileMethodCall, compilePipe } from './calls.ts'
import { compileIf, compileMatch, compileTry, sequence } from './control.ts'
import { compileDatabaseOperation, compileRawQuery, isRawQuery, unwrapped } from './database.ts'
import { compileSideEffect, compileWith, outsideOfWorkflows } from './durable.ts'
import { compileLambda } from './functions.ts'
import { compileLater } from './later.ts'
import { compileFor, compileForEach } from './loops.ts'
import { compileField, compileIndex, compileRecord, compileStruct } from './members.ts'
import { compileSpawn } from './spawn.ts'

export const FORMS: Forms = { expression: compileExpression, sequence }

function compileExpression(body: BodyCompiler, expression: HirExpression, isDiscarded: boolean): Eval {
  if ('Block' in expression) {
    const [statements] = expression.Block
    return body.block(statements, isDiscarded)
  }
  if ('If' in expression) return compileIf(body, expression.If)
  if ('Match' in expression) return compileMatch(body, expression.Match)
  if ('For' in expression) return compileFor(body, expression.For, isDiscarded)
  if ('ForEach' in expression) return compileForEach(body, expression.ForEach, isDiscarded)
  if ('Try' in expression) {
    const { target, span } = expression.Try
    // The operation throws its failure, so `?` has nothing to unwrap.
    if (body.names.tables.results.transparent.has(expression.Try)) return body.value(target)
    return compileTry(body, target, span.start)
  }
  if ('SideEffect' in expression) {
    const { body: statements, span } = expression.SideEffect
    return compileSideEffect(body, statements, span.start)
  }
  return compileOperand(body, expression, isDiscarded)
}

function compileOperand(body: BodyCompiler, expression: HirExpression, isDiscarded: boolean): Eval {
  if ('IntLit' in expression) return constant(expression.IntLit[0])
  if ('Ident' in expression) return compileName(body, expression.Ident)
  if ('Binary' in expression) return compileBinary(body, expression.Binary)
  if ('Call' in expression) return compileLater(body, expression.Call) ?? compileCall(body, expression.Call)
  if ('MethodCall' in expression) {
    const { MethodCall: call } = expression
    if (!isRawQuery(body, call)) return compileMethodCall(body, call, isDiscarded)
    return outsideOfWorkflows(body, 'db.query', call[3].start, compileRawQuery(body, call))
  }
  if ('FieldAccess' in expression) return compileField(body, expression)
  if ('Index' in expression) return compileIndex(body, expression.Index)
  if ('StringLit' in expression) return constant(expression.StringLit[0])
  if ('BoolLit' in expression) return constant(expression.BoolLit[0])
  if ('FloatLit' in expression) return constant(new Float(expression.FloatLit[0]))
  if ('DecimalLit' in expression) {
    const [digits, { start }] = expression.DecimalLit
    return constant(Decimal.parse(digits) ?? fail('RUN_TYPE', `${digits} is not a decimal`, start))
  }
  if ('ListLit' in expression) return compileList(body, expression.ListLit)
  if ('TupleLit' in expression) return compileTuple(body, expression.TupleLit[0])
  if ('ObjectLit' in expression) return compileRecord(body, expression.ObjectLit[0], expression.ObjectLit[1].start)
  if ('StructLit' in expression) return compileStruct(body, expression.StructLit)
  if ('Unary' in expression) return compileUnary(body, expression.Unary)
  if ('Lambda' in expression) return compileLambda(body, expression.Lambda)
  if ('Pipe' in expression) return compilePipe(body, expression.Pipe)
  if ('DbTableOp' in expression) {
    const { table, span } = expression.DbTableOp
    return outsideOfWorkflows(body, `db.${table}`, span.start, compileDatabaseOperation(body, expression.DbTableOp))
  }
  if ('Spawn' in expression) return compileSpawn(body, expression.Spawn)
  if ('With' in expression) return compileWith(body, expression.With)
  return unsupported(...unknownForm(expression))
}

function compileName(body: BodyCompiler, ident: readonly [string, HirSpan]): Eval {
  const [name, { start }] = ident
  const local = body.scope.lookup(name)
  if (local !== undefined) {
    const read = readLocal(local)
    return body.names.tables.results.unwrapped.has(ident) ? unwrapped(read, start) : read
  }
  return body.names.read(name, start)
}

function compileList(body: BodyCompiler, [items, { start: at }]: readonly [readonly HirExpression[], HirSpan]): Eval {
  const { machine } = body
  const values = items.map(item => body.value(item))
  const bytes = 16 + 8 * values.length
  return frame => {
    machine.allocate(bytes, at)
    return values.map(value => value(frame))
  }
}

function compileTuple(body: BodyCompiler, items: readonly HirExpression[]): Eval {
  if (items.length === 0) return constant(null)
  const values = items.map(item => body.value(item))
  return frame => new Tuple(values.map(value => value(frame)))
}

function compileUnary(
  body: BodyCompiler,
  [operator, operand, { start }]: readonly ['Not' | 'Neg', HirExpression, HirSpan]
): Eval {
  const value = body.value(operand)
  if (operator === 'Not') return frame => !truth(value(frame), start)
  return frame => {
    const number = value(frame)
    return typeof number === 'number' ? 0 - number : negate(number, start)
  }
}

function unknownForm(expression: HirExpression): [what: string, at: number] {
  if ('Jsx' in expression) return [`the element <${expression.Jsx.tag}>`, expression.Jsx.span.start]
  if ('JsxSelfClosing' in expression) {
    return [`the element <${expression.JsxSelfClosing.tag}>`, expression.JsxSelfClosing.span.start]
  }
  if ('JsxFragment' in expression) return ['a JSX fragment', expression.JsxFragment.span.start]
  return [`the form ${Object.keys(expression).join()}`, -1]
}
