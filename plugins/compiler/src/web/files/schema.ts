import type { HirColumn, HirTable, HirType } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { propertyKey } from '../../typescript/names.ts'
import { isOption, TypeImports } from '../../typescript/types.ts'
import type { WebModule } from '../web-module.ts'

/** Generates `schema.ts` with a row type and an insert type for each table. */
export function schemaFile({ hir, types, name }: WebModule): EmittedFile | null {
  if (hir.tables.length === 0) return null
  const imports = new TypeImports('./schema')
  const declared = new Set([...hir.types, ...hir.tables].map(each => each.name))
  const tables = hir.tables.map(table => {
    const row = rowText(table, table.name, type => types.print(type, imports))
    const insert = `New${table.name}`
    if (declared.has(insert)) return row
    const insertFields = table.fields.map(field => {
      const mark = mayBeLeftOut(field) ? '?' : ''
      return `  readonly ${propertyKey(field.name)}${mark}: ${types.print(field.type_ann, imports)}\n`
    })
    return `${row}\n/** Values of a new row of ${table.name}. */\nexport interface ${insert} {\n${insertFields.join('')}}\n`
  })
  const lines = imports.lines()
  const text = [header(name), ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`]), ...tables].join('\n')
  return { path: 'schema.ts', text }
}

/** Returns the declaration of a row type. `name` is its name in the module. */
export function rowText(table: HirTable, name: string, print: (type: HirType | null) => string): string {
  const columns = table.fields.map(column => `  readonly ${propertyKey(column.name)}: ${print(column.type_ann)}\n`)
  return `/** A row of the table ${table.name}. */\nexport interface ${name} {\n  readonly _id: number\n${columns.join('')}}\n`
}

function mayBeLeftOut({ type_ann, code }: HirColumn): boolean {
  return code !== undefined || isOption(type_ann)
}
