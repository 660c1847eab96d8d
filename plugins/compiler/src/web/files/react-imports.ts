import { posix } from 'node:path'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { itemsOf, type WebModule } from '../web-module.ts'
import { modulePath } from './v0.ts'

/** Where a module of the user is: beside the program, or in the folder of the build. */
export type ModulePlace = 'program' | 'build'

/**
 * A module for each `import react Name from "./path"` of a file beside the program: components import it from there, and it
 * passes on what is in the file. `placeOf` finds a module by its path without an ending.
 */
export function reactImportFiles(
  { module, name }: WebModule,
  sourceFolder: string,
  placeOf: (path: string) => ModulePlace | null
): { files: EmittedFile[]; diagnostics: Diagnostic[] } {
  const names = new Map<string, string[]>()
  const diagnostics: Diagnostic[] = []
  for (const item of itemsOf(module, 'Import').flatMap(({ items }) => items)) {
    // Packages, and paths with an ending, are for TypeScript to find.
    if (item.kind !== 'ReactImport' || !/^\.\/[^.]+$/.test(item.source.value)) continue
    const path = posix.normalize(item.source.value)
    const place = placeOf(path)
    if (place === 'program') names.set(path, [...(names.get(path) ?? []), item.name.text])
    if (place !== null) continue
    const message = `there is no module \`${item.source.value}\` beside the program or in the folder of the build`
    const suggestions = [`write ${path}.tsx with an export \`${item.name.text}\` beside the program`]
    diagnostics.push(diagnostic('web.missing_module', message, item.source, { suggestions }))
  }
  if (sourceFolder === '.') return { files: [], diagnostics }
  const files = [...names].map(([path, list]) => {
    const from = modulePath(`./${path}`, posix.join('../'.repeat(path.split('/').length - 1), sourceFolder))
    return { path: `${path}.ts`, text: `${header(name)}\nexport { ${list.join(', ')} } from '${from}'\n` }
  })
  return { files, diagnostics }
}
