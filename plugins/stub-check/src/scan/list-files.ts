import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { gitFiles } from '@svc/contracts'
import picomatch from 'picomatch'
import { extensionOf, SCANNED_EXTENSIONS } from '../engine/language.ts'
import { stubCheckErrors } from '../errors.ts'

const GIT_LIMITS = { timeoutMs: 30_000, maxBytes: 256 * 2 ** 20 }

/** Folders that hold what others wrote or what a program generated. */
const DEFAULT_EXCLUDES: readonly string[] = [
  'target',
  'node_modules',
  '.git',
  'dist',
  'build',
  'vendor',
  'third_party',
  'coverage',
  '.venv',
  'venv',
  '__pycache__',
  '.tox',
  '.vox',
  '.next',
  'out',
  'page-dist'
]

export interface Listing {
  /** Relative to `root`, with forward slashes, sorted. */
  readonly paths: readonly string[]
  /** Folder that the paths are relative to. */
  readonly root: string
  /** True if these are all source files of the project. */
  readonly isWhole: boolean
}

/**
 * Lists the source files below a path of a project. In a git repository these are tracked files and files that git does not
 * ignore; elsewhere all files. Links are not followed. Throws `STB_PATH_UNREADABLE` and, with `confined`, `STB_PATH_OUTSIDE`.
 */
export async function listFiles(options: {
  readonly projectRoot: string
  readonly path: string
  readonly exclude: readonly string[]
  /** Extensions; null: all that are scanned. */
  readonly langs: readonly string[] | null
  /** True to refuse paths outside of the project. */
  readonly confined: boolean
  readonly signal: AbortSignal
}): Promise<Listing> {
  const { projectRoot, path, signal } = options
  const named = resolve(projectRoot, path)
  const found = await stat(named).catch((error: NodeJS.ErrnoException) => {
    throw stubCheckErrors.create('STB_PATH_UNREADABLE', `${path} cannot be read: ${error.code}`, {
      hint: 'name a file or folder that exists'
    })
  })
  if (options.confined && !isWithin(await realpath(projectRoot), await realpath(named)))
    throw stubCheckErrors.create('STB_PATH_OUTSIDE', `${path} is outside of the project`, {
      hint: 'name a path inside of the project'
    })
  const root = isWithin(projectRoot, named) ? projectRoot : found.isFile() ? resolve(named, '..') : named
  const isWanted = filterOf(options.exclude, options.langs)
  if (found.isFile()) {
    const own = relative(root, named).split(sep).join('/')
    return { root, paths: isScanned(own, options.langs) ? [own] : [], isWhole: false }
  }
  const below = relative(root, named).split(sep).join('/')
  const listed = (await tracked(named, signal)) ?? (await walk(named, '', signal))
  const paths = listed.map(each => (below === '' ? each : `${below}/${each}`)).filter(isWanted)
  const regular = await Promise.all(paths.map(async each => ((await isFile(join(root, each))) ? each : null)))
  return { root, paths: regular.filter(each => each !== null).sort(), isWhole: below === '' && options.langs === null }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile()
  } catch {
    return false
  }
}

function filterOf(exclude: readonly string[], langs: readonly string[] | null): (path: string) => boolean {
  const folders = new Set(DEFAULT_EXCLUDES)
  const globs = exclude.map(pattern =>
    picomatch(
      /[*?{[]/.test(pattern)
        ? pattern
        : [pattern, `${pattern.replace(/\/$/, '')}/**`, `**/${pattern}`, `**/${pattern}/**`],
      { dot: true }
    )
  )
  return path =>
    isScanned(path, langs) && !path.split('/').some(part => folders.has(part)) && !globs.some(matches => matches(path))
}

function isScanned(path: string, langs: readonly string[] | null): boolean {
  const extension = extensionOf(path)
  return (
    SCANNED_EXTENSIONS[extension] !== undefined &&
    (langs === null || langs.includes(extension)) &&
    !/\.min\.[cm]?js$/.test(path)
  )
}

async function tracked(folder: string, signal: AbortSignal): Promise<readonly string[] | null> {
  const paths = await gitFiles(folder, GIT_LIMITS, signal)
  // A folder that git ignores as a whole was named on purpose.
  return paths?.length === 0 ? null : paths
}

async function walk(root: string, folder: string, signal: AbortSignal): Promise<string[]> {
  signal.throwIfAborted()
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
  const paths: string[] = []
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isFile()) paths.push(path)
    else if (entry.isDirectory() && !DEFAULT_EXCLUDES.includes(entry.name))
      paths.push(...(await walk(root, path, signal)))
  }
  return paths
}

/** True if a path is a folder or below it. */
export function isWithin(home: string, path: string): boolean {
  const way = relative(home, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
