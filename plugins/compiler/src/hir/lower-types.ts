import type { HirType } from '@svc/contracts'
import type { Type } from '../syntax/ast-types.ts'

export function lowerType(type: Type): HirType {
  switch (type.kind) {
    case 'NamedType': {
      const name = type.path.map(({ text }) => text).join('.')
      if (type.args.length > 0) return { Generic: [name, type.args.map(lowerType)] }
      return name === 'Unit' ? 'Unit' : { Named: name }
    }
    case 'OptionalType':
      return { Generic: ['Option', [lowerType(type.inner)]] }
    case 'FunctionType':
      return { Function: [type.params.map(lowerType), type.result === null ? 'Unit' : lowerType(type.result)] }
    case 'TupleType':
      return { Tuple: type.items.map(lowerType) }
    case 'UnitType':
      return 'Unit'
    case 'InferType':
      return { Named: '_' }
    case 'DecimalType':
      return 'Decimal'
    case 'SizeType':
      return { Named: String(type.size) }
  }
}
