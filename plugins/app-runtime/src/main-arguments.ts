import type { HirType, Program } from '@svc/contracts'
import { runErrors } from './errors.ts'
import { Decimal } from './interpreter/decimal.ts'
import { Float, type Value } from './interpreter/value.ts'

/**
 * Returns the arguments of `main`. A list parameter gets all of them; otherwise each is parsed by the type of its
 * parameter. Throws `RUN_ARGUMENTS`.
 */
export function mainArguments(program: Program, args: readonly string[]): Value[] {
  const main = program.module.functions.find(({ name }) => name === 'main')
  const params = main?.params ?? []
  const [first] = params
  // A main without parameters can read them with std.env.args().
  if (first === undefined) return []
  if (params.length === 1 && isList(first.type_ann)) return [args]
  if (args.length > params.length) {
    throw refused(
      program,
      `main takes ${params.length} ${params.length === 1 ? 'argument' : 'arguments'}, got ${args.length}`
    )
  }
  return args.map((text, index) => {
    const { name, type_ann } = params[index] as (typeof params)[number]
    return (
      read(text, type_ann) ??
      refuse(program, `${text} is not a valid ${typeOf(type_ann)} for the parameter ${name} of main`)
    )
  })
}

function isList(type: HirType | null): boolean {
  return typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0].toLowerCase() === 'list'
}

function typeOf(type: HirType | null): string {
  if (type === 'Decimal') return 'dec'
  return typeof type === 'object' && type !== null && 'Named' in type ? type.Named : 'str'
}

function read(text: string, type: HirType | null): Value | undefined {
  switch (typeOf(type)) {
    case 'int': {
      const value = /^-?\d{1,18}$/.test(text) ? Number(text) : undefined
      return value === undefined || Number.isSafeInteger(value) ? value : BigInt(text)
    }
    case 'float':
      return /^-?\d+(\.\d+)?$/.test(text) ? new Float(Number(text)) : undefined
    case 'bool':
      return text === 'true' || (text === 'false' ? false : undefined)
    case 'dec':
      return Decimal.parse(text)
    default:
      return text
  }
}

function refuse(program: Program, message: string): never {
  throw refused(program, message)
}

function refused({ path }: Program, message: string): Error {
  return runErrors.create('RUN_ARGUMENTS', `${path}: ${message}`, {
    hint: 'write the arguments of main after the name of the file'
  })
}
