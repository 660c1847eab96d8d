import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import picomatch from 'picomatch'

/** Folders that are never members of a workspace, even if a glob matches them. */
const SKIPPED = new Set(['node_modules', 'target', 'dist', 'build', 'venv', '__pycache__'])

/** Maximum depth of a glob with `**`, and maximum number of members. */
const MAX_DEPTH = 6
const MAX_MEMBERS = 2_000

/**
 * Returns the folders below `root` that match a glob and contain the file `manifest`: sorted paths with forward slashes.
 * A glob that begins with `!` excludes its matches. Folders that begin with a dot are skipped; links are not followed.
 */
export async function memberFolders(root: string, globs: readonly string[], manifest: string): Promise<string[]> {
  const found = new Set<string>()
  const isExcluding = (glob: string) => glob.startsWith('!')
  const excluded = globs.filter(isExcluding).map(glob => picomatch(tidied(glob.slice(1)) || '.'))
  for (const glob of globs.filter(glob => !isExcluding(glob)).map(tidied)) {
    const { base, isGlob, glob: rest } = picomatch.scan(glob)
    const depth = isGlob ? (rest.includes('**') ? MAX_DEPTH : rest.split('/').length) : 0
    const matches = isGlob ? picomatch(glob) : null
    for await (const folder of foldersBelow(root, isGlob ? base : glob, depth)) {
      if (found.size >= MAX_MEMBERS) break
      if (matches?.(folder) === false) continue
      if (!excluded.some(excludes => excludes(folder)) && (await isFile(join(root, folder, manifest))))
        found.add(folder)
    }
  }
  return [...found].sort()
}

/** Iterates over a folder and the folders below it. */
async function* foldersBelow(root: string, folder: string, depth: number): AsyncGenerator<string> {
  if (folder.split('/').includes('..')) return
  yield folder
  if (depth === 0) return
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name.startsWith('.') || SKIPPED.has(entry.name)) continue
    yield* foldersBelow(root, folder === '' ? entry.name : `${folder}/${entry.name}`, depth - 1)
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true
}

/** Removes the leading `./` and trailing slashes; the root becomes empty. */
function tidied(glob: string): string {
  return glob.replace(/^\.(?:\/|$)/, '').replace(/\/+$/, '')
}
