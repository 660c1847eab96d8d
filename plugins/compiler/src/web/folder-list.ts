import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Name of the file in which a build lists its output. */
export const LIST_FILE = '.vox-build.json'

/** Paths of the output files, with a hash of each. */
export type FolderList = ReadonlyMap<string, string>

/** Reads the list in a folder. It is empty before the first build, or if the file is damaged. */
export async function readFolderList(folder: string): Promise<FolderList> {
  const text = await readFile(join(folder, LIST_FILE), 'utf8').catch(() => '')
  try {
    const { files } = JSON.parse(text) as { readonly files?: Readonly<Record<string, unknown>> }
    const entries = Object.entries(files ?? {}).filter((entry): entry is [string, string] => {
      const [path, hash] = entry
      return typeof hash === 'string' && isBelow(path)
    })
    return new Map(entries)
  } catch {
    return new Map()
  }
}

export function folderListText(list: FolderList): string {
  const files = Object.fromEntries([...list].sort(([a], [b]) => (a < b ? -1 : 1)))
  return `${JSON.stringify({ schema_version: 1, files }, null, 2)}\n`
}

export function hashOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}

/** True if a path stays in its folder. An edited list must not affect other files. */
function isBelow(path: string): boolean {
  return !path.startsWith('/') && !/^[a-zA-Z]:|\\/.test(path) && !path.split('/').includes('..')
}
