import type { HirModule, HirNamedField, HirType, HirVariant } from './hir.ts'

/** Definition of a named type, with type arguments substituted for its parameters. */
export type NamedType =
  | { readonly kind: 'alias'; readonly type: HirType }
  | { readonly kind: 'struct'; readonly fields: readonly HirNamedField[] }
  | { readonly kind: 'choice'; readonly variants: readonly HirVariant[] }
  /** Columns of a table, without `_id`. */
  | { readonly kind: 'row'; readonly fields: readonly HirNamedField[] }

/** Declarations of types. */
export type DeclaredTypes = Pick<HirModule, 'types' | 'tables'>

/** Maximum number of aliases between a name and its type. An alias of itself has no meaning. */
const MAX_ALIASES = 100

/** The types that a module declares. */
export class TypeNames {
  readonly #types: ReadonlyMap<string, HirModule['types'][number]>
  readonly #tables: ReadonlyMap<string, HirModule['tables'][number]>
  readonly #constructors = new Map<string, string>()

  constructor({ types, tables }: DeclaredTypes) {
    this.#types = new Map(types.map(each => [each.name, each]))
    this.#tables = new Map(tables.map(each => [each.name, each]))
    for (const { name, variants } of types) {
      for (const variant of variants) this.#constructors.set(variant.name, name)
    }
  }

  resolve(name: string, args: readonly HirType[] = []): NamedType | undefined {
    const table = this.#tables.get(name)
    if (table !== undefined) {
      return { kind: 'row', fields: table.fields.map(field => [field.name, field.type_ann] as const) }
    }
    const declared = this.#types.get(name)
    if (declared === undefined) return undefined
    const { generics = [], alias, variants, fields = [] } = declared
    const given = new Map(generics.map((generic, index) => [generic, args[index] ?? { Named: '_' }]))
    const filled = (each: readonly HirNamedField[]): HirNamedField[] =>
      each.map(([field, type]) => [field, substitute(type, given)])
    if (alias !== undefined) return { kind: 'alias', type: substitute(alias, given) }
    if (variants.length === 0) return { kind: 'struct', fields: filled(fields) }
    return { kind: 'choice', variants: variants.map(each => ({ ...each, fields: filled(each.fields) })) }
  }

  /** Returns the type that a name stands for, if it is an alias. */
  unaliased(type: HirType): HirType {
    let found = type
    for (let count = 0; count < MAX_ALIASES && typeof found === 'object'; count++) {
      const [name, args] = 'Named' in found ? [found.Named, []] : 'Generic' in found ? found.Generic : ['', []]
      const declared = this.resolve(name, args)
      if (declared?.kind !== 'alias') return found
      found = declared.type
    }
    return found
  }

  /** Returns the type of a constructor, if that type has no parameters. */
  typeOfConstructor(tag: string): HirType | undefined {
    const name = this.#constructors.get(tag)
    return name === undefined ? undefined : { Named: name }
  }
}

function substitute(type: HirType, given: ReadonlyMap<string, HirType>): HirType {
  if (given.size === 0 || typeof type === 'string') return type
  if ('Named' in type) return given.get(type.Named) ?? type
  const all = (types: readonly HirType[]): HirType[] => types.map(each => substitute(each, given))
  if ('Tuple' in type) return { Tuple: all(type.Tuple) }
  if ('Function' in type) return { Function: [all(type.Function[0]), substitute(type.Function[1], given)] }
  return { Generic: [type.Generic[0], all(type.Generic[1])] }
}
