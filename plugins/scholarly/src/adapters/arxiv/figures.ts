import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type PublicationManifest, publicationMedia } from '@svc/contracts'
import { MAX_BUNDLE_BYTES } from './checks.ts'
import type { Findings } from './findings.ts'
import type { Figure } from './writer.ts'

/** Image with its content. */
export interface FigureFile {
  readonly name: string
  readonly content: Buffer
  readonly sha3_256: string
}

/**
 * Reads the images of a publication. Paths are relative to the file that `source_ref` names, and stay inside of the
 * project, also by symbolic links. Images that cannot be read are findings.
 */
export async function readFigures(
  figures: readonly Figure[],
  manifest: PublicationManifest,
  projectRoot: string,
  findings: Findings
): Promise<readonly FigureFile[]> {
  const root = await realpath(projectRoot)
  const base = await baseFolder(manifest.source_ref, root)
  const files: FigureFile[] = []
  const approved = new Map(publicationMedia(manifest).map(({ path, sha3_256 }) => [path, sha3_256]))
  let left = MAX_BUNDLE_BYTES
  for (const { source, name } of figures) {
    const shown = source.slice(0, 200)
    const path = await insidePath(source, base, root)
    if (path === 'outside') {
      findings.add('arxiv_path_outside', 'error', `The image ${shown} is not inside of the project.`)
      continue
    }
    const content = path === 'missing' ? null : await read(path, left)
    if (content === null)
      findings.add('arxiv_image_missing', 'error', `The image ${shown} is not a file below ${base}.`)
    else if (content === 'large')
      findings.add('arxiv_size', 'error', `The images have more than ${MAX_BUNDLE_BYTES} bytes, the limit of arXiv.`)
    else {
      left -= content.length
      const sha3_256 = createHash('sha3-256').update(content).digest('hex')
      const expected = approved.get(source)
      if (expected !== sha3_256)
        findings.add(
          'arxiv_image_changed',
          'error',
          expected === undefined
            ? `The image ${shown} is not part of the approved content; prepare the publication from its file.`
            : `The image ${shown} is not the one that was approved; prepare again.`
        )
      files.push({ name, content, sha3_256 })
    }
  }
  return files
}

/** Returns the folder of the source file if it is in the project, else the project. */
async function baseFolder(sourceRef: string | null, root: string): Promise<string> {
  if (sourceRef === null || isAbsolute(sourceRef) || sourceRef.includes('\0')) return root
  try {
    const path = await realpath(join(root, sourceRef))
    return isInside(path, root) && (await stat(path)).isFile() ? dirname(path) : root
  } catch {
    return root
  }
}

async function insidePath(source: string, base: string, root: string): Promise<string> {
  if (isAbsolute(source) || source.includes('\0') || !isInside(resolve(base, source), root)) return 'outside'
  try {
    const path = await realpath(resolve(base, source))
    return isInside(path, root) ? path : 'outside'
  } catch {
    return 'missing'
  }
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Returns the content of a regular file; null if there is none. */
async function read(path: string, maxBytes: number): Promise<Buffer | 'large' | null> {
  try {
    // A named pipe without a writer would block.
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    try {
      const { size } = await file.stat().then(found => (found.isFile() ? found : { size: -1 }))
      if (size < 0) return null
      if (size > maxBytes) return 'large'
      const content = await file.readFile()
      return content.length > maxBytes ? 'large' : content
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
