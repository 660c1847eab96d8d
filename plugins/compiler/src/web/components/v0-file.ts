import { lowerType } from '../../hir/lower-types.ts'
import type { V0Component } from '../../syntax/ast.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, EmittedModule } from '../../typescript/module.ts'
import { literal, propertyKey } from '../../typescript/names.ts'

/**
 * Generates the module of a v0 component: a re-export for `@v0 from`, otherwise a placeholder. The placeholder is an empty
 * element with the component's id.
 */
export function v0File({ name, props, source, fromFile }: V0Component, build: Build, sourceName: string): EmittedFile {
  const path = `${name.text}.tsx`
  if (fromFile) {
    const module = source.value.replace(/\.[jt]sx?$/, '')
    const relative = /^[./@]/.test(module) ? module : `./${module}`
    return { path, text: `${header(sourceName)}\nexport { ${name.text} } from ${literal(relative)}\n` }
  }
  const file = new EmittedModule(build)
  const members = props.map(prop => {
    return `  readonly ${propertyKey(prop.name.text)}${prop.isOptional ? '?' : ''}: ${file.declaredType(lowerType(prop.type))}\n`
  })
  const lines = file.imports.lines().map(line => `${line}\n`)
  const text = `export interface ${name.text}Props {\n${members.join('')}}

export function ${name.text}(_props: ${name.text}Props) {
  return <div data-v0={${literal(source.value)}} />
}
`
  return { path, text: [header(sourceName), ...(lines.length === 0 ? [] : [lines.join('')]), text].join('\n') }
}
