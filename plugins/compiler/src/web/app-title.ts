import { basename, dirname, resolve } from 'node:path'

/** File names that say nothing about a program. */
const PLAIN_NAMES: ReadonlySet<string> = new Set(['app', 'main', 'index', 'program'])

/** Returns the title of an application: the name of its file, or of its folder for `app.vox`. */
export function appTitle(path: string): string {
  const file = basename(path).replace(/\.vox$/, '')
  const folder = basename(dirname(resolve(path)))
  const name = PLAIN_NAMES.has(file) && folder !== '' ? folder : file
  const words = name.replaceAll(/[_-]+/g, ' ').trim()
  return words === '' ? file : words.charAt(0).toUpperCase() + words.slice(1)
}
