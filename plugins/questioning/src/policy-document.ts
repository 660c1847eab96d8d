import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, relative, resolve, sep } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { questioningErrors } from './errors.ts'

const MAX_BYTES = 4_194_304
/** Maximum characters of a chunk, unless a single paragraph is longer. */
const CHUNK_CHARACTERS = 2_000

export interface SyncedDocument {
  /** Path relative to the project, with forward slashes. */
  readonly relative_path: string
  /** SHA3-256 of the file's bytes, in hex. */
  readonly content_sha3_256: string
  readonly search_document_id: number
}

/**
 * Adds the policy document to the search index: one row for the document and one for each chunk. Another sync replaces
 * the rows, but not the document's id. Throws `QST_PATH_REFUSED` and `QST_DOCUMENT_UNREADABLE`.
 */
export async function syncDocument(store: DatabaseStore, root: string, path: string): Promise<SyncedDocument> {
  const { file, relativePath } = await resolveDocument(root, path)
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

/** Splits text into chunks of whole paragraphs; a heading starts a new chunk. */
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

async function resolveDocument(root: string, path: string): Promise<{ file: string; relativePath: string }> {
  const base = await realpath(root)
  const requested = resolve(base, path)
  // A symbolic link inside the project may point outside it.
  const file = isInside(base, requested) ? await realpath(requested).catch(() => requested) : requested
  if (!isInside(base, file))
    throw questioningErrors.create('QST_PATH_REFUSED', `${path} is outside the project`, {
      at: { file: path },
      hint: 'pass the path of a document in the project, relative to its root'
    })
  return { file, relativePath: relative(base, requested).split(sep).join('/') }
}

function isInside(base: string, path: string): boolean {
  const fromBase = relative(base, path)
  return fromBase !== '' && fromBase !== '..' && !fromBase.startsWith(`..${sep}`) && !isAbsolute(fromBase)
}

async function readDocument(file: string, shown: string): Promise<Buffer> {
  const reject = (problem: string, cause?: unknown): never => {
    throw questioningErrors.create('QST_DOCUMENT_UNREADABLE', `document ${shown}: ${problem}`, {
      at: { file: shown },
      hint: 'pass the path of a text file as relative_path, or set policy_document of the plugin questioning',
      cause
    })
  }
  const found = await stat(file).catch((cause: unknown) => reject('no such file', cause))
  if (!found.isFile()) reject('not a regular file')
  if (found.size > MAX_BYTES) reject(`${found.size} bytes; the limit is ${MAX_BYTES} bytes`)
  const bytes = await readFile(file).catch((cause: unknown) => reject('the file cannot be read', cause))
  if (bytes.includes(0)) reject('not a text file')
  return bytes
}
