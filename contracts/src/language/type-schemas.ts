import type { JsonSchema } from '@svc/plugin-sdk'
import type { HirNamedField, HirParam, HirType } from './hir.ts'
import { isOptionalType, isRequiredParam } from './http-endpoints.ts'
import type { TypeNames } from './type-names.ts'

/** Members of structs that may be omitted because they have a default. */
type Defaults = readonly { readonly type: string; readonly field: string }[]

/**
 * Converts types to JSON Schemas. A named type becomes one definition with references, since types may be recursive.
 */
export class TypeSchemas {
  /** Schemas of the types referenced so far, by the last part of their reference. */
  readonly definitions = new Map<string, JsonSchema>()
  /** Last part of the reference, by type in source syntax. */
  readonly #keys = new Map<string, string>()
  readonly #names: TypeNames
  readonly #defaults: Defaults
  readonly #base: string

  /** `base`: prefix of references. */
  constructor(names: TypeNames, defaults: Defaults, base = '#/$defs/') {
    this.#names = names
    this.#defaults = defaults
    this.#base = base
  }

  /** Returns the schema with all {@link definitions}, for standalone use. */
  whole(schema: JsonSchema): JsonSchema {
    return this.definitions.size === 0 ? schema : { ...schema, $defs: Object.fromEntries(this.definitions) }
  }

  /** Returns the schema of a type; it refers to {@link definitions}. */
  of(type: HirType | null): JsonSchema {
    if (type === null) return {}
    if (type === 'Unit') return { type: 'null' }
    if (type === 'Decimal') return DECIMAL
    if ('Function' in type) return {}
    if ('Tuple' in type) {
      const { length } = type.Tuple
      const items = type.Tuple.map(each => this.of(each))
      return { type: 'array', prefixItems: items, items: false, minItems: length, maxItems: length }
    }
    const [name, args] = 'Named' in type ? [type.Named, []] : type.Generic
    return this.#declared(name, args) ?? this.#builtIn(name, args)
  }

  /** Returns the schema of an object with a member for each parameter. */
  ofParams(params: readonly HirParam[]): JsonSchema {
    return {
      type: 'object',
      properties: Object.fromEntries(params.map(({ name, type_ann }) => [name, this.of(type_ann)])),
      required: params.filter(isRequiredParam).map(({ name }) => name),
      additionalProperties: false
    }
  }

  #declared(name: string, args: readonly HirType[]): JsonSchema | undefined {
    const declared = this.#names.resolve(name, args)
    if (declared === undefined) return undefined
    if (declared.kind === 'alias') return this.of(declared.type)
    const key = this.#keyOf(name, args)
    if (!this.definitions.has(key)) {
      // Set before its members are converted, since they may refer to it.
      this.definitions.set(key, {})
      this.definitions.set(key, this.#described(name, declared))
    }
    return { $ref: `${this.#base}${key}` }
  }

  /** Returns the key of a type: `Box_int` for `Box[int]`, with a number if that key is in use. */
  #keyOf(name: string, args: readonly HirType[]): string {
    const text = typeText({ Generic: [name, args] })
    const words = args.length === 0 ? name : `${name}_${args.map(typeText).join('_')}`.replace(/\W+/g, '_')
    let key = this.#keys.get(text) ?? words
    for (let number = 2; !this.#keys.has(text) && this.definitions.has(key); number++) key = `${words}_${number}`
    this.#keys.set(text, key)
    return key
  }

  #described(name: string, declared: NonNullable<ReturnType<TypeNames['resolve']>>): JsonSchema {
    switch (declared.kind) {
      case 'alias':
        return this.of(declared.type)
      case 'struct':
        return this.#record(name, declared.fields)
      case 'row': {
        const { properties, ...schema } = this.#record(name, declared.fields)
        const id = { ...INT, description: 'Number of the row.' }
        return { ...schema, properties: { _id: id, ...(properties as object) } }
      }
      case 'choice':
        return { oneOf: declared.variants.map(variant => this.#record(null, variant.fields, variant.name)) }
    }
  }

  #record(of: string | null, fields: readonly HirNamedField[], tag?: string): JsonSchema {
    const properties = Object.fromEntries(fields.map(([name, type]) => [name, this.of(type)]))
    const isRequired = ([name, type]: HirNamedField): boolean =>
      !isOptionalType(type) && !this.#defaults.some(each => each.type === of && each.field === name)
    const required = fields.filter(isRequired).map(([name]) => name)
    return {
      type: 'object',
      properties: { ...(tag === undefined ? {} : { _tag: { const: tag } }), ...properties },
      required: [...(tag === undefined ? [] : ['_tag']), ...required],
      additionalProperties: false
    }
  }

  #builtIn(name: string, args: readonly HirType[]): JsonSchema {
    const [first = null, second = null] = args
    switch (name) {
      case 'int':
      case 'Id':
        return INT
      case 'float':
        return { type: 'number' }
      case 'str':
        return { type: 'string' }
      case 'char':
        return { type: 'string', minLength: 1, maxLength: 1 }
      case 'bool':
        return { type: 'boolean' }
      case 'dec':
        return DECIMAL
      case 'unit':
        return { type: 'null' }
      case 'List':
      case 'list':
      case 'Set':
        return { type: 'array', items: this.of(first) }
      case 'Tensor':
        return { type: 'array', items: { type: 'number' }, ...sizeOf(first) }
      case 'Option':
        return { anyOf: [this.of(first), { type: 'null' }] }
      case 'Result':
        return {
          oneOf: [
            { type: 'object', properties: { _tag: { const: 'Ok' }, value: this.of(first) }, required: ['_tag'] },
            {
              type: 'object',
              properties: { _tag: { const: 'Err' }, value: second === null ? { type: 'string' } : this.of(second) },
              required: ['_tag', 'value']
            }
          ]
        }
      case 'Map':
      case 'map':
        return { type: 'object', additionalProperties: this.of(second) }
      default:
        return {}
    }
  }
}

const INT: JsonSchema = { type: 'integer', format: 'int64', minimum: -(2 ** 63), exclusiveMaximum: 2 ** 63 }

const DECIMAL: JsonSchema = { type: 'string', pattern: '^[+-]?\\d+(\\.\\d+)?$', description: 'A decimal number.' }

function sizeOf(size: HirType | null): JsonSchema {
  const length = typeof size === 'object' && size !== null && 'Named' in size ? Number(size.Named) : Number.NaN
  return Number.isInteger(length) ? { minItems: length, maxItems: length } : {}
}

/** Returns a type in source syntax. */
function typeText(type: HirType | null): string {
  if (type === null) return 'any'
  if (type === 'Decimal') return 'dec'
  if (typeof type === 'string') return type
  if ('Named' in type) return type.Named
  if ('Generic' in type) return `${type.Generic[0]}[${type.Generic[1].map(typeText).join(', ')}]`
  if ('Tuple' in type) return `(${type.Tuple.map(typeText).join(', ')})`
  return `fn(${type.Function[0].map(typeText).join(', ')}) to ${typeText(type.Function[1])}`
}
