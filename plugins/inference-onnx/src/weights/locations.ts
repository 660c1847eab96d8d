import { realpath } from 'node:fs/promises'
import { dirname, parse, relative, sep } from 'node:path'

/**
 * File locations for ONNX Runtime: paths inside one folder, relative to it.
 *
 * Symbolic links are resolved first: download caches contain links that lead out of the folder, which the runtime
 * rejects.
 */
export interface Locations {
  readonly folder: string
  /** Returns the location of a file; null if it is on another drive. */
  of(file: string): string | null
}

/** Returns the locations of existing files and of one that may not exist yet. */
export async function locateFiles(files: readonly string[], future: string): Promise<Locations> {
  const real = new Map<string, string>([[future, future]])
  for (const file of files) real.set(file, await realpath(file))
  const folder = [...real.values()].map(dirname).reduce(commonFolder)
  return {
    folder,
    of(file) {
      const target = real.get(file)
      if (target === undefined || parse(target).root !== parse(folder).root) return null
      return relative(folder, target).split(sep).join('/')
    }
  }
}

/** Returns the deepest common folder; `a` itself if they are on different drives. */
function commonFolder(a: string, b: string): string {
  const root = parse(a).root
  if (parse(b).root !== root) return a
  const [left, right] = [a, b].map(path => path.slice(root.length).split(sep)) as [string[], string[]]
  const differs = left.findIndex((part, index) => part !== right[index])
  return root + (differs === -1 ? left : left.slice(0, differs)).join(sep)
}
