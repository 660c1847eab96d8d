import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export interface SourceFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
}

/** Returns the TypeScript files below a folder, sorted by path. */
export function sourceFiles(root: string, folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .sort()
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
