import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, relative, resolve, sep } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { questioningErrors } from './errors.ts'

const MAX_BYTES = 4_194_304
/** Characters of a chunk, save for a single longer paragraph. */
const CHUNK_CHARACTERS = 2_000

export interface SyncedDocument {
  /** With forward slashes. */
  readonly relative_path: string
  /** SHA3-256 of the file's bytes, in hex. */
  readonly content_sha3_256: string
  readonly search_document_id: number
}

/**
 * Adds the policy document to the search index: one row for it, and one for each part. Syncing again
 * replaces them, and keeps the document's id. Throws `QST_PATH_REFUSED` and `QST_DOCUMENT_UNREADABLE`.
 */
export async function syncDocument(store: DatabaseStore, root: string, path: string): Promise<SyncedDocument> {
  const { file, relativePath } = await located(root, path)
  const bytes = await readDocument(file, relativePath)
  const hash = createHash('sha3-256').update(bytes).digest('hex')
  const text = bytes.toString('utf8')
  const title = /^#[ \t]+(\S.*)$/m.exec(text)?.[1]?.trim() ?? basename(relativePath)
  const id = await store.transaction(async tx => {
    const { rows } = await tx.execute(
      `INSERT INTO search_documents (source_uri, title, mime_type, content_hash) VALUES (?, ?, ?, ?)
       ON CONFLICT (source_uri) DO UPDATE SET title = excluded.title, mime_type = excluded.mime_type,
         content_hash = excluded.content_hash, ingested_at = datetime('now')
       RETURNING id`,
      [relativePath, title, /\.(?:md|markdown)$/i.test(relativePath) ? 'text/markdown' : 'text/plain', hash]
    )
    const document = Number(rows[0]?.[0])
    await tx.execute('DELETE FROM search_document_chunks WHERE document_id = ?', [document])
    await tx.execute(
      `INSERT INTO search_document_chunks (document_id, chunk_index, body_text)
       SELECT ?, key, value FROM json_each(?)`,
      [document, JSON.stringify(chunks(text))]
    )
    return document
  })
  return { relative_path: relativePath, content_sha3_256: hash, search_document_id: id }
}

/** Paragraphs, put together while they fit. */
export function chunks(text: string): string[] {
  const parts: string[] = []
  let part = ''
  for (const paragraph of text.split(/\n\s*\n/).map(each => each.trim())) {
    if (paragraph === '') continue
    const heading = /^#{1,6}\s/.test(paragraph)
    if (part !== '' && (heading || part.length + paragraph.length > CHUNK_CHARACTERS)) {
      parts.push(part)
      part = ''
    }
    part = part === '' ? paragraph : `${part}\n\n${paragraph}`
  }
  return part === '' ? parts : [...parts, part]
}

async function located(root: string, path: string): Promise<{ file: string; relativePath: string }> {
  const base = await realpath(root)
  const wanted = resolve(base, path)
  // A link may lead out of the project though its own path does not.
  const file = isInside(base, wanted) ? await realpath(wanted).catch(() => wanted) : wanted
  if (!isInside(base, file))
    throw questioningErrors.create('QST_PATH_REFUSED', `${path} is outside the project`, {
      at: { file: path },
      hint: 'name a document of the project, relative to its root'
    })
  return { file, relativePath: relative(base, wanted).split(sep).join('/') }
}

function isInside(base: string, path: string): boolean {
  const way = relative(base, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

async function readDocument(file: string, shown: string): Promise<Buffer> {
  const refuse = (why: string, cause?: unknown): never => {
    throw questioningErrors.create('QST_DOCUMENT_UNREADABLE', `the document ${shown} ${why}`, {
      at: { file: shown },
      hint: 'give relative_path, or set policy_document of the plugin questioning',
      cause
    })
  }
  const found = await stat(file).catch((cause: unknown) => refuse('cannot be read: no such file', cause))
  if (!found.isFile()) refuse('is no file')
  if (found.size > MAX_BYTES) refuse(`has ${found.size} bytes, and ${MAX_BYTES} are taken`)
  const bytes = await readFile(file).catch((cause: unknown) => refuse('cannot be read', cause))
  if (bytes.includes(0)) refuse('is no text')
  return bytes
}
