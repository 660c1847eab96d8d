import type { Hir } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, EmittedModule } from '../../typescript/module.ts'
import { literal, propertyKey } from '../../typescript/names.ts'

/**
 * Generates the module of a v0 component: a re-export for `@v0 from`, otherwise a placeholder. The placeholder is an empty
 * element with the component's id.
 */
export function v0File(
  { name: { name }, properties, source, isFile }: Hir.ExternalView,
  build: Build,
  sourceName: string
): EmittedFile {
  const path = `${name}.tsx`
  if (isFile) {
    const module = source.name.replace(/\.[jt]sx?$/, '')
    const relative = /^[./@]/.test(module) ? module : `./${module}`
    return { path, text: `${header(sourceName)}\nexport { ${name} } from ${literal(relative)}\n` }
  }
  const file = new EmittedModule(build)
  const members = properties.map(prop => {
    return `  readonly ${propertyKey(prop.name)}${prop.isOptional ? '?' : ''}: ${file.declaredType(prop.annotation)}\n`
  })
  const lines = file.imports.lines().map(line => `${line}\n`)
  const text = `export interface ${name}Props {\n${members.join('')}}

export function ${name}(_props: ${name}Props) {
  return <div data-v0={${literal(source.name)}} />
}
`
  return { path, text: [header(sourceName), ...(lines.length === 0 ? [] : [lines.join('')]), text].join('\n') }
}
