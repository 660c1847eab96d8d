import { isUtf8 } from 'node:buffer'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { compilerErrors } from './errors.ts'
import { SourceFile } from './source-file.ts'

const SUFFIX = '.vox'

const NO_UTF8 = 'no UTF-8'

/** A line that excludes a file from operations on whole folders. */
const SKIP = /^[ \t]*\/\/[ \t]*vox:skip\b/m

/**
 * Reads files, and all source files in folders. Relative paths start at the current folder, and are reported as
 * written. In folders, skips files with a line `// vox:skip`, unless `strict`. Throws `CMP_FILE_UNREADABLE`.
 */
export async function readSources(paths: readonly string[], strict: boolean): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  for (const path of paths) {
    if (!(await isFolder(path))) files.push(await readSource(path, path))
    else {
      for (const inner of await sourcesIn(path)) {
        const file = await readSource(inner, inner)
        if (strict || !SKIP.test(file.text)) files.push(file)
      }
    }
  }
  return files
}

/** Like `readSources`, but throws `CMP_SOURCES_MISSING` if there is no source file. */
export async function readSome(paths: readonly string[], strict: boolean): Promise<SourceFile[]> {
  const files = await readSources(paths, strict)
  if (files.length > 0) return files
  const verb = paths.length === 1 ? 'holds' : 'hold'
  throw compilerErrors.create('CMP_SOURCES_MISSING', `${paths.join(', ')} ${verb} no source file`, {
    hint: `name a folder with files that end with ${SUFFIX}; files with a line // vox:skip are skipped`
  })
}

/** Reads the file at `path`, which is reported as `shown`. */
export async function readSource(path: string, reportedPath: string): Promise<SourceFile> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw unreadable(reportedPath, cause)
  })
  // Replacing invalid bytes would shift spans and change the hash.
  if (!isUtf8(bytes)) throw unreadable(reportedPath, { code: NO_UTF8 })
  return new SourceFile(reportedPath, bytes.toString('utf8'))
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** Returns the paths of all source files below a folder, without hidden folders and installed packages. */
export async function sourcesIn(folder: string): Promise<string[]> {
  const found: string[] = []
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') {
      found.push(...(await sourcesIn(path)))
    } else if (entry.isFile() && entry.name.endsWith(SUFFIX)) found.push(path)
  }
  return found
}

function unreadable(path: string, cause: unknown): Error {
  const { code } = cause as { readonly code?: string }
  const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? String(cause)})`
  return compilerErrors.create('CMP_FILE_UNREADABLE', `${path} ${problem}`, {
    hint: code === NO_UTF8 ? 'save the file as UTF-8' : `name a file that ends with ${SUFFIX}, or a folder`,
    at: { file: path },
    cause
  })
}

/** True if a path is inside a folder; both must be absolute and free of links. */
export function isInside(folder: string, path: string): boolean {
  const relativePath = relative(folder, path)
  return relativePath !== '' && !relativePath.startsWith('..') && !/^([a-zA-Z]:|[\\/])/.test(relativePath)
}
