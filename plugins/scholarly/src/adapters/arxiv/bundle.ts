import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { PlannedFile, PublicationManifest } from '@svc/contracts'
import { Header } from 'tar'
import { replaceFile } from '../replace-file.ts'
import { workOf } from '../work.ts'
import { type BundleFile, checkLayout } from './checks.ts'
import { checkedDocument, DOCUMENT_LIMIT_MS } from './document-thread.ts'
import { readFigures } from './figures.ts'
import { Findings } from './findings.ts'
import { type Handoff, handoffOf } from './handoff.ts'

export const HANDOFF_FILE = 'arxiv_handoff.json'
export const BUNDLE_FILE = 'arxiv_bundle.tar.gz'
export const MAIN_FILE = 'main.tex'

/** Time of all files of the archive, so that the same content gives the same bytes. */
const MTIME = new Date(Date.UTC(2020, 0, 1))
const BLOCK_BYTES = 512

/** Complete bundle in memory. */
export interface ArxivBundle {
  readonly handoff: Handoff
  readonly contents: ReadonlyMap<string, Buffer>
  readonly archive: Buffer
}

export interface BundleOptions {
  readonly signal?: AbortSignal
  /** Milliseconds for the conversion of the body. */
  readonly limitMs?: number
}

/**
 * Creates the bundle of a publication: the same bytes for the same content and images. The handoff has the findings; a
 * bundle with errors must not be written.
 */
export async function createBundle(
  manifest: PublicationManifest,
  projectRoot: string,
  { signal = new AbortController().signal, limitMs = DOCUMENT_LIMIT_MS }: BundleOptions = {}
): Promise<ArxivBundle> {
  const work = workOf(manifest)
  const document = await checkedDocument(manifest, limitMs, signal)
  const { tex, figures } = document
  const findings = new Findings(document.findings)
  const images = await readFigures(figures, manifest, projectRoot, findings)
  const contents = new Map<string, Buffer>([[MAIN_FILE, Buffer.from(tex, 'utf8')]])
  for (const { name, content } of images) contents.set(name, content)
  const files: readonly BundleFile[] = [...contents].map(([name, content]) => ({
    name,
    bytes: content.length,
    head: content.subarray(0, 8)
  }))
  checkLayout(files, findings)
  const archive = await archiveOf(contents)
  const handoff = handoffOf(manifest, work, {
    bundle: planned(BUNDLE_FILE, archive),
    files: [...contents].map(([name, content]) => planned(name, content)),
    findings: findings.list()
  })
  return { handoff, contents, archive }
}

function planned(name: string, content: Buffer): PlannedFile {
  return { name, bytes: content.length, sha3_256: createHash('sha3-256').update(content).digest('hex') }
}

const compress = promisify(gzip)

/** Returns a compressed archive (ustar), with the files in the order of their names. */
async function archiveOf(contents: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  const blocks: Uint8Array[] = []
  for (const [path, content] of [...contents].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const header = new Header({ path, mode: 0o644, size: content.length, mtime: MTIME, type: 'File', uid: 0, gid: 0 })
    header.encode()
    if (header.block === undefined) throw new Error(`${path}: no header`)
    blocks.push(header.block, content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1)))
  }
  // The end of an archive is two empty blocks.
  return await compress(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 9 })
}

/** Writes a bundle into a folder. The handoff is last: until then it names the hashes of the earlier files. */
export async function writeBundle(folder: string, { handoff, contents, archive }: ArxivBundle): Promise<void> {
  await replaceFile(join(folder, MAIN_FILE), contents.get(MAIN_FILE) ?? Buffer.alloc(0))
  await replaceFile(join(folder, BUNDLE_FILE), archive)
  await replaceFile(join(folder, HANDOFF_FILE), Buffer.from(`${JSON.stringify(handoff, null, 2)}\n`, 'utf8'))
}

/** Returns the handoff of a folder; null if there is none that can be read. */
export async function readHandoff(folder: string): Promise<Handoff | null> {
  try {
    const found: unknown = JSON.parse(await readFile(join(folder, HANDOFF_FILE), 'utf8'))
    const { content_sha3_256, publication_id, bundle } = found as Partial<Handoff>
    const isHandoff = typeof content_sha3_256 === 'string' && typeof publication_id === 'string'
    return isHandoff && typeof bundle?.sha3_256 === 'string' ? (found as Handoff) : null
  } catch {
    return null
  }
}
