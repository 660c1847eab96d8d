import { posix } from 'node:path'
import { lowerType } from '../../hir/lower-types.ts'
import type { V0Component } from '../../syntax/ast.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { literal, propertyKey } from '../typescript-names.ts'
import { TypeImports } from '../typescript-types.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/**
 * A module for each `@v0` component. `@v0 from "path"` is passed on from that module, which is looked for from the folder
 * of the program; `@v0 "ID"` is a placeholder until the component is fetched or written.
 */
export function v0Files(web: WebModule, sourceFolder: string): EmittedFile[] {
  return itemsOf(web.module, 'V0').map(component => {
    const { name, source, fromFile } = component
    const body = fromFile
      ? `export { ${name.text} } from ${literal(modulePath(source.value, sourceFolder))}\n`
      : placeholder(web, component)
    return { path: `${name.text}.tsx`, text: [header(web.name), body].join('\n') }
  })
}

/** A path of the program as the modules of a build write it; names of packages stay as they are. */
export function modulePath(path: string, sourceFolder: string): string {
  if (!path.startsWith('.')) return path
  const joined = posix.join(sourceFolder, path.replace(/\.[jt]sx?$/, ''))
  return joined.startsWith('.') ? joined : `./${joined}`
}

function placeholder({ types }: WebModule, { name, source, props }: V0Component): string {
  const imports = new TypeImports()
  const members = props.map(prop => {
    const type = types.print(lowerType(prop.type), imports)
    return `  readonly ${propertyKey(prop.name.text)}${prop.isOptional ? '?' : ''}: ${type}\n`
  })
  const lines = imports.lines().map(line => `${line}\n`)
  return `${lines.join('')}${lines.length === 0 ? '' : '\n'}export interface ${name.text}Props {
${members.join('')}}

/** Stands for a component of v0 until it is fetched, with SVC_V0_API_URL, or written in its place. */
export function ${name.text}(_props: ${name.text}Props) {
  return <div data-v0=${JSON.stringify(source.value)}>${name.text}</div>
}
`
}
