import type { ValueType } from '../value-types/type.ts'

/** Returns a placeholder for a value that is not loaded yet, as TypeScript; null for types without one. */
export function emptyValue(type: ValueType): string | null {
  switch (type.kind) {
    case 'plain':
      switch (type.name) {
        case 'int':
        case 'float':
          return '0'
        case 'bool':
          return 'false'
        case 'dec':
          return "'0'"
        case 'str':
        case 'char':
          return "''"
        default:
          return 'null'
      }
    case 'generic':
      switch (type.name) {
        case 'Option':
          return 'null'
        case 'Map':
          return '{}'
        case 'Result': {
          const value = type.args[0] === undefined ? null : emptyValue(type.args[0])
          return value === null ? null : `{ _tag: 'Ok', value: ${value} }`
        }
        default:
          return '[]'
      }
    case 'tuple': {
      const items = type.items.map(emptyValue)
      return items.every(each => each !== null) ? `[${items.join(', ')}]` : null
    }
    default:
      return null
  }
}
