import type { Doc } from '../doc/doc.ts'
import type { Type } from '../syntax/ast-types.ts'
import type { Name } from '../syntax/node.ts'
import { CommentPrinter } from './comment-printer.ts'

/** Prints types, always on one line. */
export abstract class TypePrinter extends CommentPrinter {
  protected type(type: Type): string {
    switch (type.kind) {
      case 'NamedType': {
        const path = type.path.map(({ text }) => text).join('.')
        return type.args.length === 0 ? path : `${path}[${this.#types(type.args)}]`
      }
      case 'OptionalType':
        return `${this.type(type.inner)}?`
      case 'FunctionType':
        return `fn(${this.#types(type.params)})${this.result(type.result)}`
      case 'TupleType':
        return `(${this.#types(type.items)})`
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

  #types(types: readonly Type[]): string {
    return types.map(type => this.type(type)).join(', ')
  }

  protected result(type: Type | null): string {
    return type === null ? '' : ` to ${this.type(type)}`
  }

  protected annotation(type: Type | null): string {
    return type === null ? '' : `: ${this.type(type)}`
  }

  protected generics(names: readonly Name[]): Doc {
    return names.length === 0 ? '' : `[${names.map(({ text }) => text).join(', ')}]`
  }
}
