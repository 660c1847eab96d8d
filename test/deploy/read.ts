import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

export const ROOT = join(import.meta.dirname, '..', '..')
export const DEPLOY = join(ROOT, 'config', 'deploy')

/** Returns the documents of a YAML file. Throws for errors in it. */
export function readYaml(file: string): any[] {
  return parseAllDocuments(readFileSync(file, 'utf8'), { merge: true }).map(document => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]?.message}`)
    return document.toJS()
  })
}

/** Returns the paths of all files below a folder with an ending. */
export function filesWith(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith(ending))
    .map(path => join(folder, path))
}
