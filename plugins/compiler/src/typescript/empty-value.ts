import type { Hir } from '@svc/contracts'

/** Returns a placeholder for a value that is not loaded yet, as TypeScript; null for types without one. */
export function emptyValue(type: Hir.Type): string | null {
  switch (type.kind) {
    case 'unit':
      return 'null'
    case 'tuple': {
      const items = type.items.map(emptyValue)
      return items.every(each => each !== null) ? `[${items.join(', ')}]` : null
    }
    case 'named':
      return namedValue(type.name, type.args)
    default:
      return null
  }
}

function namedValue(name: string, args: readonly Hir.Type[]): string | null {
  switch (name) {
    case 'int':
    case 'float':
    case 'Id':
      return '0'
    case 'bool':
      return 'false'
    case 'dec':
      return "'0'"
    case 'str':
    case 'char':
      return "''"
    case 'Element':
    case 'Option':
      return 'null'
    case 'Map':
      return '{}'
    case 'List':
    case 'Set':
    case 'Stream':
    case 'Tensor':
      return '[]'
    case 'Result': {
      const value = args[0] === undefined ? null : emptyValue(args[0])
      return value === null ? null : `{ _tag: 'Ok', value: ${value} }`
    }
    default:
      return null
  }
}
