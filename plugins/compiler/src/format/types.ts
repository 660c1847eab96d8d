import type { Type } from '../syntax/ast-types.ts'
import type { Name } from '../syntax/node.ts'

export function typeText(type: Type): string {
  switch (type.kind) {
    case 'NamedType': {
      const path = type.path.map(({ text }) => text).join('.')
      return type.args.length === 0 ? path : `${path}[${typeTexts(type.args)}]`
    }
    case 'OptionalType':
      return `${typeText(type.inner)}?`
    case 'FunctionType':
      return `fn(${typeTexts(type.params)})${resultText(type.result)}`
    case 'TupleType':
      return `(${typeTexts(type.items)})`
    case 'UnitType':
      return '()'
    case 'InferType':
      return '_'
    case 'DecimalType':
      return 'dec'
    case 'SizeType':
      return String(type.size)
  }
}

function typeTexts(types: readonly Type[]): string {
  return types.map(type => typeText(type)).join(', ')
}

export function resultText(type: Type | null): string {
  return type === null ? '' : ` to ${typeText(type)}`
}

export function annotationText(type: Type | null): string {
  return type === null ? '' : `: ${typeText(type)}`
}

export function genericsText(names: readonly Name[]): string {
  return names.length === 0 ? '' : `[${names.map(({ text }) => text).join(', ')}]`
}
