import { posix } from 'node:path'
import type { Hir } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { viewsOf, type WebModule } from '../web-module.ts'

/** Location of a user's module: next to the program, or in the build folder. */
export type ModuleLocation = 'program' | 'build'

/**
 * Generates modules that re-export files next to the program: one for each path of `import react Name from "./path"`,
 * and one for each component with `@v0 from "./path"`. `locate` returns the location of a user's module, by its path
 * without extension.
 */
export function userModuleFiles(
  { pages, name, place }: WebModule,
  sourceFolder: string,
  locate: (path: string) => ModuleLocation | null
): { files: EmittedFile[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const isBesideProgram = (source: Hir.Reference, exported: Hir.Reference): boolean => {
    // TypeScript resolves packages and other paths itself.
    if (!/^\.\/[^.]+(\.[jt]sx?)?$/.test(source.name)) return false
    const path = pathOf(source)
    const location = locate(path)
    if (location === null) {
      const message = `the module \`./${path}\` exists neither next to the program nor in the build folder`
      const suggestions = [`create ${path}.tsx next to the program, and export \`${exported.name}\` from it`]
      diagnostics.push(diagnostic('web.missing_module', message, place(source), { suggestions }))
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
  for (const { kind, name: own, source } of pages.imports) {
    if (kind !== 'component' || !isBesideProgram(source, own)) continue
    const path = pathOf(source)
    imported.set(path, [...(imported.get(path) ?? []), own.name])
  }
  const components = viewsOf(pages, 'V0').filter(({ source, isFile, name: own }) => {
    return isFile && isBesideProgram(source, own)
  })
  const files = [
    ...[...imported].map(([path, names]) => reexport(`${path}.ts`, names, path)),
    ...components.map(({ source, name: own }) => reexport(`${own.name}.tsx`, [own.name], pathOf(source)))
  ]
  return { files, diagnostics }
}

/** Removes `./` and the extension. */
function pathOf({ name }: Hir.Reference): string {
  return posix.normalize(name).replace(/\.[jt]sx?$/, '')
}
