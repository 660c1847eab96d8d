import type { HirModule, HirNamedField, HirType } from '../hir/hir.ts'
import { isOption } from './typescript-types.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

const PLAIN: Readonly<Record<string, JsonSchema>> = {
  int: { type: 'integer', format: 'int64' },
  float: { type: 'number' },
  str: { type: 'string' },
  char: { type: 'string', minLength: 1 },
  bool: { type: 'boolean' },
  unit: { type: 'null' },
  Unit: { type: 'null' }
}

const SEQUENCES = new Set(['List', 'list', 'Set', 'set', 'Stream', 'stream'])

/** Types of a program as JSON Schema 2020-12, as values of them are in JSON. */
export class JsonSchemas {
  readonly #names: ReadonlySet<string>
  readonly #hir: Pick<HirModule, 'types' | 'tables'>

  constructor(hir: Pick<HirModule, 'types' | 'tables'>) {
    this.#hir = hir
    this.#names = new Set([...hir.types, ...hir.tables].map(({ name }) => name))
  }

  /** `{}` for what the program leaves open. */
  of(type: HirType | null): JsonSchema {
    if (type === null) return {}
    if (type === 'Unit') return { type: 'null' }
    if (type === 'Decimal') return { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$' }
    if ('Function' in type) return {}
    if ('Tuple' in type) {
      const { length } = type.Tuple
      return { type: 'array', prefixItems: type.Tuple.map(each => this.of(each)), minItems: length, maxItems: length }
    }
    if ('Named' in type) return PLAIN[type.Named] ?? this.#reference(type.Named)
    const [name, [first = null, second = null]] = type.Generic
    if (SEQUENCES.has(name)) return { type: 'array', items: this.of(first) }
    switch (name) {
      case 'Option':
        return { anyOf: [this.of(first), { type: 'null' }] }
      case 'Result':
        return {
          anyOf: [tagged('Ok', [['value', first]], this), tagged('Err', [['value', second ?? { Named: 'str' }]], this)]
        }
      case 'Map':
      case 'map':
        return { type: 'object', additionalProperties: this.of(second) }
      case 'Id':
        return { type: 'integer', format: 'int64' }
      default:
        return this.#reference(name)
    }
  }

  /** Of all tables and types that are declared, by name. Members whose type is a parameter are open. */
  declared(): Readonly<Record<string, JsonSchema>> {
    const tables = this.#hir.tables.map(({ name, fields }) => {
      const columns = fields.map(({ name: column, type_ann }): HirNamedField => [column, type_ann])
      return [name, record([['_id', { Named: 'int' }], ...columns], this)] as const
    })
    const types = this.#hir.types.map(({ name, variants, fields, alias }) => {
      if (alias !== undefined) return [name, this.of(alias)] as const
      if (fields !== undefined) return [name, record(fields, this)] as const
      return [name, { oneOf: variants.map(variant => tagged(variant.name, variant.fields, this)) }] as const
    })
    return Object.fromEntries([...tables, ...types])
  }

  #reference(name: string): JsonSchema {
    return this.#names.has(name) ? { $ref: `#/components/schemas/${name}` } : {}
  }
}

type Fields = readonly (readonly [name: string, type: HirType | null])[]

function record(fields: Fields, schemas: JsonSchemas): JsonSchema {
  const required = fields.filter(([, type]) => !isOption(type)).map(([name]) => name)
  const properties = Object.fromEntries(fields.map(([name, type]) => [name, schemas.of(type)]))
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

function tagged(tag: string, fields: Fields, schemas: JsonSchemas): JsonSchema {
  const { properties, required = [] } = record(fields, schemas) as { properties: JsonSchema; required?: string[] }
  return { type: 'object', properties: { _tag: { const: tag }, ...properties }, required: ['_tag', ...required] }
}
