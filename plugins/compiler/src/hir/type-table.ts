import type { Hir } from '@svc/contracts'
import { resolved, type Type } from '../types/type.ts'

type HirType = Hir.Type

/** Types of one program, each once: equal types are one object. */
export class TypeTable {
  readonly unit: HirType = { kind: 'unit' }
  readonly any: HirType = { kind: 'any' }
  readonly never: HirType = { kind: 'never' }
  readonly #byKey = new Map<string, HirType>()
  readonly #ids = new Map<HirType, number>()
  readonly #known = new WeakMap<Type, HirType>()

  /** Converts a type of the checker. The answer of a database operation has the type of its value. */
  of(type: Type): HirType {
    const inner = resolved(type)
    const known = this.#known.get(inner)
    if (known !== undefined) return known
    const converted = this.#convert(inner)
    // A variable that is still open may be linked later.
    if (inner.kind !== 'var') this.#known.set(inner, converted)
    return converted
  }

  #convert(type: Type): HirType {
    switch (type.kind) {
      case 'named': {
        const { def, args } = type
        if (def.name === 'Unit' && def.kind === 'primitive') return this.unit
        return this.named(
          (def.base ?? def).name,
          args.map(arg => this.of(arg))
        )
      }
      case 'fn':
        return this.#fn(
          type.params.map(each => this.of(each.type)),
          this.of(type.result)
        )
      case 'tuple':
        return this.#tuple(type.items.map(item => this.of(item)))
      case 'record':
        return this.#record(Array.from(type.fields, ([name, field]) => [name, this.of(field)] as const))
      case 'rigid':
        return this.#once(`P${type.name}`, () => ({ kind: 'param', name: type.name }))
      case 'answer':
        return this.of(type.value)
      case 'never':
        return this.never
      // Nothing has the type of an open variable: the elements of `[]`. An error was reported.
      case 'var':
      case 'any':
      case 'error':
        return this.any
    }
  }

  named(name: string, args: readonly HirType[] = []): HirType {
    return this.#once(`N${name}${this.#key(args)}`, () => ({ kind: 'named', name, args }))
  }

  /** Replaces type parameters by types of this table. */
  substituted(type: HirType, args: ReadonlyMap<string, HirType>): HirType {
    const inner = (each: HirType): HirType => this.substituted(each, args)
    switch (type.kind) {
      case 'param':
        return args.get(type.name) ?? type
      case 'named':
        return type.args.length === 0 ? type : this.named(type.name, type.args.map(inner))
      case 'fn':
        return this.#fn(type.params.map(inner), inner(type.result))
      case 'tuple':
        return this.#tuple(type.items.map(inner))
      case 'record':
        return this.#record(type.fields.map(([name, each]) => [name, inner(each)] as const))
      default:
        return type
    }
  }

  #fn(params: readonly HirType[], result: HirType): HirType {
    return this.#once(`F${this.#key([...params, result])}`, () => ({ kind: 'fn', params, result }))
  }

  #tuple(items: readonly HirType[]): HirType {
    return this.#once(`T${this.#key(items)}`, () => ({ kind: 'tuple', items }))
  }

  #record(fields: readonly (readonly [name: string, type: HirType])[]): HirType {
    const key = fields.map(([name, type]) => `${name}:${this.#id(type)}`).join()
    return this.#once(`R${key}`, () => ({ kind: 'record', fields }))
  }

  #once(key: string, create: () => HirType): HirType {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const type = create()
    this.#byKey.set(key, type)
    return type
  }

  #key(types: readonly HirType[]): string {
    return types.length === 0 ? '' : `(${types.map(type => this.#id(type)).join()})`
  }

  #id(type: HirType): number {
    const known = this.#ids.get(type)
    if (known !== undefined) return known
    this.#ids.set(type, this.#ids.size)
    return this.#ids.size - 1
  }
}
