import { type Hir, unreachable } from '@svc/contracts'
import type { Meter } from '../../wire/codec.ts'
import { inPart, Mismatch } from '../../wire/mismatch.ts'
import { display } from '../display.ts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import { Float, isInt, Tagged, type Value } from '../value.ts'
import { type BodyCompiler, constant } from './body-compiler.ts'

export function compileConvert(body: BodyCompiler, node: Hir.Convert): Eval {
  const { conversion, operand, start } = node
  switch (conversion) {
    case 'float':
      return toFloat(body, operand)
    case 'struct':
      return toStruct(body, node)
    case 'unwrap':
      return unwrapped(body.value(operand), start)
    case 'checked':
      return checked(body, node)
    default:
      return unreachable(conversion)
  }
}

function toFloat(body: BodyCompiler, operand: Hir.Expr): Eval {
  if (operand.kind === 'Int') {
    body.weight++
    return constant(new Float(Number(operand.value)))
  }
  const value = body.value(operand)
  return frame => {
    const number = value(frame)
    return isInt(number) ? new Float(Number(number)) : number
  }
}

/** Compiles records that become structs: members are converted, and the omitted ones are added. */
function toStruct(body: BodyCompiler, node: Hir.Convert): Eval {
  const { machine } = body
  return checked(body, node, {
    charge: steps => machine.charge(steps),
    allocate: bytes => machine.allocate(bytes),
    allowsMore: true
  })
}

/** Unwraps the Result of a database operation; an Error fails the program. */
function unwrapped(read: Eval, at: number): Eval {
  return frame => {
    const value = read(frame)
    if (!(value instanceof Tagged)) return value
    if (value.tag === 'Error') return fail('RUN_DATABASE', display(value.fields[0] ?? null), at)
    return value.tag === 'Ok' ? (value.fields[0] ?? null) : value
  }
}

/** Types whose values are recognised without their codec. */
const PLAIN: Readonly<Record<string, (value: Value) => boolean>> = {
  int: value => typeof value === 'number',
  float: value => value instanceof Float,
  str: value => typeof value === 'string',
  bool: value => typeof value === 'boolean'
}

/** Returns a check of values that have a name: it throws `RUN_TYPE`. Null for a type that is not checked. */
export function checkOf(
  { names, machine }: Pick<BodyCompiler, 'names' | 'machine'>,
  type: Hir.Type
): ((value: Value, name: string, at: number) => Value) | null {
  const codec = names.codec(type)
  if (codec === null) return null
  return (value, name, at) => {
    try {
      return codec.check(value, machine)
    } catch (thrown) {
      if (!(thrown instanceof Mismatch)) throw thrown
      inPart(thrown, name)
      return fail('RUN_TYPE', thrown.reason, at)
    }
  }
}

/** Compiles the check that a value has a type, at any depth. Throws `RUN_TYPE` with the place in the value. */
function checked(body: BodyCompiler, { operand, type, start: at }: Hir.Convert, meter: Meter = body.machine): Eval {
  const read = body.value(operand)
  const codec = body.names.codec(type)
  if (codec === null) return read
  const { locals } = body.frame
  const isPlain = type.kind === 'named' ? PLAIN[type.name] : undefined
  return frame => {
    const value = read(frame)
    if (isPlain?.(value)) return value
    try {
      return codec.check(value, meter)
    } catch (thrown) {
      if (!(thrown instanceof Mismatch)) throw thrown
      for (const part of pathOf(operand, locals).reverse()) inPart(thrown, part)
      return fail('RUN_TYPE', thrown.reason, at)
    }
  }
}

/** Returns the name of a value for messages: `row.tags`; empty if it has none. */
function pathOf(node: Hir.Expr, locals: readonly Hir.Local[]): string[] {
  switch (node.kind) {
    case 'Local':
      return [(locals[node.local] as Hir.Local).name]
    case 'State':
      return [node.field]
    case 'Constant':
      return [node.name]
    case 'Field': {
      const path = pathOf(node.object, locals)
      return path.length === 0 ? [] : [...path, node.name]
    }
    default:
      return []
  }
}
