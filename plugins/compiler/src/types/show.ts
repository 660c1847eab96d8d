import { RESULT } from './builtin-types.ts'
import { type ParamType, resolved, STR_NAME, type Type } from './type.ts'

/** Maximum number of characters of a type in a message. */
const MAX_TEXT = 400

/** Formats a type for users. */
export function show(type: Type): string {
  return print(type, MAX_TEXT)
}

function print(type: Type, room: number): string {
  if (room <= 0) return '…'
  const inner = resolved(type)
  switch (inner.kind) {
    case 'var':
      return '_'
    case 'any':
    case 'never':
      return inner.kind
    case 'error':
      return 'any'
    case 'rigid':
      return inner.name
    case 'named': {
      const { def, args } = inner
      if (args.length === 0) return def.name
      const [, error] = args
      const isPlainResult = def === RESULT && error !== undefined && isPlainError(error)
      return `${def.name}[${commas(isPlainResult ? args.slice(0, 1) : args, room - def.name.length)}]`
    }
    case 'tuple':
      return `(${commas(inner.items, room)})`
    case 'fn':
      return `fn(${commas(inner.params.map(typeOfParam), room)}) to ${print(inner.result, room - 12)}`
    case 'record':
      return printRecord(inner.fields, room)
    case 'answer':
      return print(inner.value, room)
  }
}

function isPlainError(type: Type): boolean {
  const inner = resolved(type)
  return inner.kind === 'var' || inner.kind === 'any' || (inner.kind === 'named' && inner.def.name === STR_NAME)
}

function typeOfParam({ type }: ParamType): Type {
  return type
}

function commas(types: readonly Type[], room: number): string {
  let text = ''
  for (const type of types) {
    if (text !== '') text += ', '
    text += print(type, room - text.length)
  }
  return text
}

function printRecord(fields: ReadonlyMap<string, Type>, room: number): string {
  let text = ''
  for (const [name, type] of fields) {
    text += `${text === '' ? '' : ', '}${name}: `
    text += print(type, room - text.length)
  }
  return text === '' ? '{}' : `{ ${text} }`
}
