import { posix } from 'node:path'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Name, StringLiteral } from '../../syntax/ast.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/** Location of a user's module: next to the program, or in the build folder. */
export type ModuleLocation = 'program' | 'build'

/**
 * Generates modules that re-export files next to the program: one for each path of `import react Name from "./path"`,
 * and one for each component with `@v0 from "./path"`. `locate` returns the location of a user's module, by its path
 * without extension.
 */
export function userModuleFiles(
  { module, name }: WebModule,
  sourceFolder: string,
  locate: (path: string) => ModuleLocation | null
): { files: EmittedFile[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const isBesideProgram = (source: StringLiteral, exported: Name): boolean => {
    // TypeScript resolves packages and other paths itself.
    if (!/^\.\/[^.]+(\.[jt]sx?)?$/.test(source.value)) return false
    const path = pathOf(source)
    const location = locate(path)
    if (location === null) {
      const message = `the module \`./${path}\` exists neither next to the program nor in the build folder`
      const suggestions = [`create ${path}.tsx next to the program, and export \`${exported.text}\` from it`]
      diagnostics.push(diagnostic('web.missing_module', message, source, { suggestions }))
    }
    return location === 'program' && sourceFolder !== '.'
  }
  const reexport = (file: string, names: readonly string[], from: string): EmittedFile => {
    const up = '../'.repeat(file.split('/').length - 1)
    const module = posix.join(up, sourceFolder, from)
    const text = `${header(name)}\nexport { ${names.join(', ')} } from '${module.startsWith('.') ? module : `./${module}`}'\n`
    return { path: file, text }
  }
  const imported = new Map<string, string[]>()
  for (const item of itemsOf(module, 'Import').flatMap(({ items }) => items)) {
    if (item.kind !== 'ReactImport' || !isBesideProgram(item.source, item.name)) continue
    const path = pathOf(item.source)
    imported.set(path, [...(imported.get(path) ?? []), item.name.text])
  }
  const components = itemsOf(module, 'V0').filter(({ source, fromFile, name: own }) => {
    return fromFile && isBesideProgram(source, own)
  })
  const files = [
    ...[...imported].map(([path, names]) => reexport(`${path}.ts`, names, path)),
    ...components.map(({ source, name: own }) => reexport(`${own.text}.tsx`, [own.text], pathOf(source)))
  ]
  return { files, diagnostics }
}

/** Removes `./` and the extension. */
function pathOf({ value }: StringLiteral): string {
  return posix.normalize(value).replace(/\.[jt]sx?$/, '')
}
