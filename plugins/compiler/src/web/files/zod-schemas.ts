import type { HirNamedField, HirType, HirTypeDeclaration } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { propertyKey } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import type { WebModule } from '../web-module.ts'

const PLAIN: Readonly<Record<string, string>> = {
  int: 'z.int()',
  float: 'z.number()',
  str: 'z.string()',
  char: 'z.string().min(1)',
  bool: 'z.boolean()',
  unit: 'z.null()',
  Unit: 'z.null()'
}

const DECIMAL = 'z.string().regex(/^-?[0-9]+(\\.[0-9]+)?$/)'
const SEQUENCES = new Set(['List', 'list', 'Set', 'set', 'Stream', 'stream'])

/**
 * Generates `schemas.ts`: a zod schema for each table and type. A schema produces the type of the same name in
 * `schema.ts` or `types.ts`. A generic type is a function of the schemas of its arguments.
 */
export function zodSchemasFile(web: WebModule): EmittedFile | null {
  const { tables, types } = web.hir
  if (tables.length === 0 && types.length === 0) return null
  const imports = new TypeImports()
  imports.value('zod', 'z')
  const printer = new ZodPrinter(web)
  const rows = tables.map(({ name, fields }) => {
    const columns = fields.map(({ name: column, type_ann }): HirNamedField => [column, type_ann])
    const members = printer.members([['_id', { Named: 'int' }], ...columns])
    imports.use('./schema', name)
    return `export const ${name}Schema: z.ZodType<${name}> = z.object({\n${members}})\n`
  })
  const declared = types.map(type => {
    imports.use('./types', type.name)
    return printer.declaration(type)
  })
  const text = [header(web.name), `${imports.lines().join('\n')}\n`, ...rows, ...declared].join('\n')
  return { path: 'schemas.ts', text }
}

class ZodPrinter {
  readonly #generics: ReadonlyMap<string, number>

  constructor({ hir }: WebModule) {
    this.#generics = new Map([
      ...hir.tables.map(({ name }) => [name, 0] as const),
      ...hir.types.map(({ name, generics = [] }) => [name, generics.length] as const)
    ])
  }

  declaration({ name, generics = [], fields, variants, alias }: HirTypeDeclaration): string {
    const scope = new Set(generics)
    const value =
      alias !== undefined
        ? this.of(alias, scope)
        : fields !== undefined
          ? `z.object({\n${this.members(fields, scope)}})`
          : union(variants.map(variant => this.#variant(variant.name, variant.fields, scope)))
    if (generics.length === 0) return `export const ${name}Schema: z.ZodType<${name}> = ${value}\n`
    const list = generics.join(', ')
    const params = generics.map(each => `${each}Schema: z.ZodType<${each}>`).join(', ')
    return `export function ${name}Schema<${list}>(${params}): z.ZodType<${name}<${list}>> {\n  return ${value.replaceAll('\n', '\n  ')}\n}\n`
  }

  members(fields: readonly HirNamedField[], scope: ReadonlySet<string> = new Set()): string {
    return fields
      .map(([field, type]) => `  ${propertyKey(field)}: ${this.of(type, scope)},\n`)
      .join('')
      .replace(/,\n$/, '\n')
  }

  of(type: HirType, scope: ReadonlySet<string>): string {
    if (type === 'Unit') return 'z.null()'
    if (type === 'Decimal') return DECIMAL
    const inner = (each: HirType | undefined): string => (each === undefined ? 'z.any()' : this.of(each, scope))
    if ('Function' in type) return 'z.any()'
    if ('Tuple' in type) return `z.tuple([${type.Tuple.map(inner).join(', ')}])`
    if ('Named' in type) {
      if (scope.has(type.Named)) return `${type.Named}Schema`
      return PLAIN[type.Named] ?? this.#reference(type.Named, [])
    }
    const [name, args] = type.Generic
    const [first, second] = args
    if (SEQUENCES.has(name)) return `z.array(${inner(first)})`
    switch (name) {
      case 'Option':
        // Servers may omit the key or send null.
        return `${inner(first)}.nullish().transform(value => value ?? null)`
      case 'Result':
        return `z.discriminatedUnion('_tag', [${[
          `z.object({ _tag: z.literal('Ok'), value: ${inner(first)} })`,
          `z.object({ _tag: z.literal('Err'), value: ${second === undefined ? 'z.string()' : inner(second)} })`
        ].join(', ')}])`
      case 'Map':
      case 'map':
        return `z.record(z.string(), ${inner(second)})`
      case 'Id':
        return 'z.int()'
      default:
        return this.#reference(name, args.map(inner))
    }
  }

  /** Returns a lazy reference, since the schema may be declared later, or refer to itself. */
  #reference(name: string, args: readonly string[]): string {
    const open = this.#generics.get(name)
    if (open === undefined) return 'z.any()'
    const schemaArgs = args.length === open ? args : Array<string>(open).fill('z.any()')
    return `z.lazy(() => ${name}Schema${open === 0 ? '' : `(${schemaArgs.join(', ')})`})`
  }

  #variant(tag: string, fields: readonly HirNamedField[], scope: ReadonlySet<string>): string {
    const members = fields.map(([field, type]) => `, ${propertyKey(field)}: ${this.of(type, scope)}`)
    return `z.object({ _tag: z.literal('${tag}')${members.join('')} })`
  }
}

function union(cases: readonly string[]): string {
  return `z.discriminatedUnion('_tag', [${cases.map(each => `\n  ${each}`).join(',')}\n])`
}
