import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import type { StubScanner } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { FileEvidence } from './evidence.ts'
import { type BrokenLink, fileLinks, linkPath } from './markdown-links.ts'
import { repositoryPath } from './repository-path.ts'
import { isJson } from './research.ts'

/** Maximum size of a file that is scanned. */
const MAX_FILE_BYTES = 2 * 2 ** 20
/** Maximum files of one task that are scanned. */
const MAX_FILES = 500
const MAX_BROKEN_LINKS = 100

export interface Inspection {
  readonly files: readonly FileEvidence[]
  readonly brokenLinks: readonly BrokenLink[]
  /** False without a scanner: the files were read, but not scanned. */
  readonly hasScanner: boolean
}

/** Reads and scans files of the repository, one after the other. Never reads a file outside it, even through a link. */
export async function inspectFiles(
  root: string,
  paths: readonly string[],
  options: { readonly links: boolean; readonly scanner?: StubScanner | undefined }
): Promise<Inspection> {
  const home = await realpath(root)
  const files: FileEvidence[] = []
  const brokenLinks: BrokenLink[] = []
  for (const path of paths.slice(0, MAX_FILES)) {
    const found = await read(home, path, options.scanner)
    files.push(found.evidence)
    if (!options.links || found.text === null || !/\.(?:md|mdx|markdown)$/i.test(path)) continue
    for (const link of fileLinks(found.text)) {
      if (brokenLinks.length >= MAX_BROKEN_LINKS) break
      if (!(await hasTarget(home, path, link.target))) brokenLinks.push({ file: path, ...link })
    }
  }
  for (const path of paths.slice(MAX_FILES)) files.push({ path, state: 'unseen' })
  return { files, brokenLinks, hasScanner: options.scanner !== undefined }
}

async function read(
  home: string,
  path: string,
  scanner: StubScanner | undefined
): Promise<{ evidence: FileEvidence; text: string | null }> {
  const none = (evidence: Omit<FileEvidence, 'path'>) => ({ evidence: { path, ...evidence }, text: null })
  const named = resolve(home, repositoryPath(path))
  if (path.includes('\0') || !isWithin(home, named)) return none({ state: 'outside' })
  try {
    const real = await realpath(named)
    if (!isWithin(home, real)) return none({ state: 'outside' })
    // Reading a pipe or a device might never end.
    const found = await stat(real)
    if (!found.isFile()) return none({ state: 'not_a_file' })
    if (found.size > MAX_FILE_BYTES) return none({ state: 'unseen' })
    const text = await readFile(real, 'utf8')
    const [scanned] = (await scanner?.scanTexts([{ path, text }])) ?? []
    if (scanned?.state === 'too_large' || scanned?.state === 'timed_out') return none({ state: 'unseen' })
    const evidence: FileEvidence = {
      path,
      state: 'read',
      ...defined({ stubs: scanned?.state === 'scanned' ? scanned.findings : undefined }),
      ...(/\.json$/i.test(path) ? { isJson: isJson(text) } : {})
    }
    return { evidence, text }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return none({ state: 'missing' })
    return none({ state: 'unreadable', reason: code })
  }
}

async function hasTarget(home: string, document: string, target: string): Promise<boolean> {
  const path = linkPath(target)
  if (path === '') return true
  const from = path.startsWith('/') ? home : resolve(home, dirname(repositoryPath(document)))
  const named = resolve(from, path.replace(/^\/+/, ''))
  // Targets outside the repository are not checked.
  if (!isWithin(home, named)) return true
  try {
    await stat(named)
    return true
  } catch {
    return false
  }
}

function isWithin(home: string, path: string): boolean {
  const way = relative(home, path)
  return way === '' || (way !== '..' && !way.startsWith('../') && !way.startsWith('..\\') && !isAbsolute(way))
}
