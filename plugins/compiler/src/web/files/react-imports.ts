import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { itemsOf, type WebModule } from '../web-module.ts'
import { modulePath } from './v0.ts'

const ENDINGS = ['.tsx', '.ts', '.jsx', '.js']

/**
 * A module for each `import react Name from "./path"` of a file beside the program: components import it from there, and it
 * passes on what is in the file. Paths that lead to no such file are left to the folder of the build.
 */
export function reactImportFiles({ module, source, name }: WebModule, sourceFolder: string): EmittedFile[] {
  if (sourceFolder === '.') return []
  const names = new Map<string, string[]>()
  for (const item of itemsOf(module, 'Import').flatMap(({ items }) => items)) {
    if (item.kind !== 'ReactImport') continue
    const path = posix.normalize(item.source.value)
    if (!item.source.value.startsWith('./') || path.startsWith('..') || /\.\w+$/.test(path)) continue
    if (!ENDINGS.some(ending => existsSync(join(dirname(source.path), path + ending)))) continue
    names.set(path, [...(names.get(path) ?? []), item.name.text])
  }
  return [...names].map(([path, list]) => {
    const depth = '../'.repeat(path.split('/').length - 1)
    const from = modulePath(`./${path}`, depth === '' ? sourceFolder : posix.join(depth, sourceFolder))
    return { path: `${path}.ts`, text: `${header(name)}\nexport { ${list.join(', ')} } from '${from}'\n` }
  })
}
