import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gitFiles, protection } from '@svc/contracts'

const GIT_LIMITS = { timeoutMs: 10_000, maxBytes: 64 * 1024 * 1024 }
const BUILT = new Set(['node_modules', 'dist', 'build', 'target', 'coverage', 'vendor', '__pycache__'])
const NO_TEXT =
  /\.(?:png|jpe?g|gif|webp|ico|bmp|pdf|zip|gz|tgz|bz2|xz|zst|7z|jar|wasm|onnx|safetensors|gguf|bin|exe|dll|so|dylib|o|a|class|mp[34]|wav|ogg|flac|mov|webm|woff2?|ttf|otf|eot|db|sqlite3?|lock|map)$/i

export interface Listing {
  /** Relative to the project, with forward slashes. */
  readonly paths: readonly string[]
  readonly by: 'git' | 'walk'
  /** True if there are more files than the limit. */
  readonly truncated: boolean
}

/**
 * Lists text files for a project search, at most `limit`: tracked and untracked files that git does not ignore. Without
 * git, walks the folders except hidden ones and those of builds and installed packages. Protected files are omitted.
 */
export async function listProject(projectRoot: string, limit: number, signal: AbortSignal): Promise<Listing> {
  const tracked = await gitFiles(projectRoot, GIT_LIMITS, signal)
  const paths: string[] = []
  let truncated = false
  const accept = (path: string): boolean => {
    if (NO_TEXT.test(path) || protection(path) !== null) return true
    if (paths.length >= limit) truncated = true
    else paths.push(path)
    return !truncated
  }
  if (tracked === null) await walk(projectRoot, '', accept, signal)
  else tracked.every(accept)
  return { paths, by: tracked === null ? 'walk' : 'git', truncated }
}

async function walk(
  root: string,
  folder: string,
  accept: (path: string) => boolean,
  signal: AbortSignal
): Promise<boolean> {
  signal.throwIfAborted()
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isFile() && !accept(path)) return false
    const isOwn = entry.isDirectory() && !BUILT.has(entry.name) && !entry.name.startsWith('.')
    if (isOwn && !(await walk(root, path, accept, signal))) return false
  }
  return true
}
