import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, propertyKey } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { viewsOf, type WebModule } from '../web-module.ts'

/** Generates `vox-islands-meta.ts` with the names and properties of the islands. */
export function islandsMetaFile({ pages, types, name }: WebModule): EmittedFile | null {
  const islands = viewsOf(pages, 'Island')
  if (islands.length === 0) return null
  const imports = new TypeImports()
  const interfaces = islands.map(island => {
    const members = island.properties.map(prop => {
      const type = types.print(prop.annotation, imports)
      return `  readonly ${propertyKey(prop.name)}${prop.isOptional ? '?' : ''}: ${type}\n`
    })
    return `export interface ${island.name.name}Props {\n${members.join('')}}\n`
  })
  const entries = islands.map(island => {
    const props = island.properties.map(prop => {
      const type = types.print(prop.annotation, new TypeImports())
      return `      ${propertyKey(prop.name)}: { type: ${literal(type)}, optional: ${prop.isOptional} }`
    })
    const list = props.length === 0 ? '{}' : `{\n${props.join(',\n')}\n    }`
    return `  ${island.name.name}: {\n    props: ${list}\n  }`
  })
  const lines = imports.lines()
  const parts = [
    header(name),
    ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`]),
    ...interfaces,
    `export const islands = {\n${entries.join(',\n')}\n} as const\n`,
    `export type IslandName = keyof typeof islands\n`
  ]
  return { path: 'vox-islands-meta.ts', text: parts.join('\n') }
}
