import { type Hir, unreachable } from '@svc/contracts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import { HOST_NAMESPACES, NATIVES } from '../natives.ts'
import { Float, Tuple } from '../value.ts'
import { compileBinary, compileLogical, compileUnary } from './binary.ts'
import { type BodyCompiler, constant, type Forms, readVariable, unsupported } from './body-compiler.ts'
import {
  compileCall,
  compileCallHandler,
  compileCallMethod,
  compileCallNative,
  compileCallValue,
  compileSpawn
} from './calls.ts'
import { compileIf, compileMatch, compileTry } from './control.ts'
import { compileConvert } from './convert.ts'
import { compileDatabaseOperation, compileRawQuery } from './database.ts'
import { compileSideEffect } from './durable.ts'
import { compileLambda } from './functions.ts'
import { compileLater } from './later.ts'
import { compileFor } from './loops.ts'
import { compileField, compileIndex, compileItem, compileRecord, compileStruct, compileVariant } from './members.ts'
import { decimalOf } from './patterns.ts'
import { compileStateRead } from './state.ts'
import { compileBlock } from './statements.ts'

export const FORMS: Forms = { expression: compileExpression, block: compileBlock }

function compileExpression(body: BodyCompiler, node: Hir.Expr, isDiscarded: boolean): Eval {
  const { names, machine } = body
  const { start: at } = node
  switch (node.kind) {
    case 'Int':
    case 'Str':
    case 'Bool':
      return constant(node.value)
    case 'Float':
      return constant(new Float(node.value))
    case 'Decimal':
      return constant(decimalOf(node))
    case 'Unit':
      return constant(null)
    case 'Tuple':
      return compileTuple(body, node)
    case 'List':
      return compileList(body, node)
    case 'Record':
      return compileRecord(body, node.fields, at)
    case 'Map':
      return compileRecord(body, node.entries, at)
    case 'Struct':
      return compileStruct(body, node)
    case 'Variant':
      return compileVariant(body, node)
    case 'Local':
      return readVariable(body.frame.variable(node.local))
    case 'State':
      return compileStateRead(body, node)
    case 'Constant':
      return names.readConstant(node.name, at)
    case 'Function':
      return names.functionValue(node.name, at)
    case 'Native':
      return names.nativeValue(node.native, at)
    case 'Constructor':
      return names.constructorValue(node.name, node.type)
    case 'Request':
      return () => machine.request.value
    case 'Unresolved':
      return unresolved(body, node)
    case 'Binary':
      return compileBinary(body, node)
    case 'Logical':
      return compileLogical(body, node)
    case 'Unary':
      return compileUnary(body, node)
    case 'Call':
      return compileCall(body, node)
    case 'CallValue':
      return compileCallValue(body, node)
    case 'CallNative':
      return compileLater(body, node) ?? compileCallNative(body, node, isDiscarded)
    case 'CallHandler':
      return compileCallHandler(body, node)
    case 'CallMethod':
      return compileCallMethod(body, node, isDiscarded)
    case 'Field':
      return compileField(body, node)
    case 'Item':
      return compileItem(body, node)
    case 'Index':
      return compileIndex(body, node)
    case 'Db':
      return compileDatabaseOperation(body, node)
    case 'RawSql':
      return compileRawQuery(body, node)
    case 'Match':
      return compileMatch(body, node, isDiscarded)
    case 'If':
      return compileIf(body, node, isDiscarded)
    case 'For':
      return compileFor(body, node, isDiscarded)
    case 'Lambda':
      return compileLambda(body, node)
    case 'Spawn':
      return compileSpawn(body, node)
    case 'Block':
      return body.block(node.block, isDiscarded)
    case 'Try':
      return compileTry(body, node)
    case 'SideEffect':
      return compileSideEffect(body, node)
    case 'Convert':
      return compileConvert(body, node)
    case 'Element':
      return unsupported(`the element <${node.tag}>`, at)
    case 'Fragment':
      return unsupported('a JSX fragment', at)
    default:
      return unreachable(node)
  }
}

function compileList(body: BodyCompiler, { items, start: at }: Hir.List): Eval {
  const { machine } = body
  const values = items.map(item => body.value(item))
  const bytes = 16 + 8 * values.length
  return frame => {
    machine.allocate(bytes, at)
    return values.map(value => value(frame))
  }
}

function compileTuple(body: BodyCompiler, { items }: Hir.Tuple): Eval {
  if (items.length === 0) return constant(null)
  const values = items.map(item => body.value(item))
  return frame => new Tuple(values.map(value => value(frame)))
}

function unresolved({ names }: BodyCompiler, { name, start }: Hir.Unresolved): Eval {
  const label = names.unavailable(name)
  if (label !== undefined) return unsupported(label, start)
  const [root = name] = name.split('.')
  if (NATIVES.has(name) || HOST_NAMESPACES.has(root)) return names.nativeValue(name, start)
  return () => fail('RUN_UNDEFINED', `${name} is not defined`, start)
}
