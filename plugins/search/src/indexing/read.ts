import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type Chunk, chunkLines, chunkMarkdown, markdownTitle } from './chunk.ts'
import { htmlText } from './html-text.ts'
import type { Outlines } from './outline.ts'
import type { ReadFile, ReadItem, SkipReason } from './protocol.ts'

/** Bytes inspected to detect a binary file. */
const PROBE_BYTES = 8_192

const MIME_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  mdx: 'text/markdown',
  markdown: 'text/markdown',
  html: 'text/html',
  htm: 'text/html',
  xhtml: 'text/html'
}

/** Reads a file and splits it into chunks. Never throws: a file that cannot be read is skipped with a reason. */
export function readForIndex(root: string, { path, knownHash }: ReadItem, maxBytes: number): ReadFile {
  const content = readContent(join(root, path), maxBytes)
  if (typeof content === 'string') return skipped(path, content, '')
  const hash = createHash('sha256').update(content).digest('hex')
  if (hash === knownHash) return { ...skipped(path, null, hash), state: 'unchanged' }
  const text = textOf(content)
  if ('reason' in text) return skipped(path, text.reason, hash)
  const mimeType = mimeTypeOf(path)
  const { title, chunks } = parsed(text.text, mimeType)
  if (chunks.length === 0) return skipped(path, 'empty', hash)
  return { path, state: 'read', reason: null, hash, title: title ?? path, mimeType, chunks, symbols: [] }
}

/** Finds the symbols of a file that still has the known hash. The state is `skipped` if it has changed. */
export async function readSymbols(
  root: string,
  { path, knownHash }: ReadItem,
  maxBytes: number,
  outlines: Outlines | null
): Promise<ReadFile> {
  const content = readContent(join(root, path), maxBytes)
  if (typeof content === 'string') return skipped(path, content, '')
  const hash = createHash('sha256').update(content).digest('hex')
  const text = textOf(content)
  if ('reason' in text || hash !== knownHash) return skipped(path, null, hash)
  const symbols = (await outlines?.outline(path, text.text)) ?? []
  return { path, state: 'read', reason: null, hash, title: '', mimeType: '', chunks: [], symbols }
}

function textOf(content: Buffer): { readonly text: string } | { readonly reason: SkipReason } {
  if (content.subarray(0, PROBE_BYTES).includes(0)) return { reason: 'binary' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    // The database does not store U+0000.
    return text.includes('\0') ? { reason: 'binary' } : { text }
  } catch {
    return { reason: 'not_utf8' }
  }
}

export function skipped(path: string, reason: SkipReason | null, hash: string): ReadFile {
  return { path, state: 'skipped', reason, hash, title: '', mimeType: '', chunks: [], symbols: [] }
}

function parsed(text: string, mimeType: string): { readonly title: string | null; readonly chunks: readonly Chunk[] } {
  if (mimeType === 'text/markdown') return { title: markdownTitle(text), chunks: chunkMarkdown(text) }
  if (mimeType !== 'text/html') return { title: null, chunks: chunkLines(text) }
  const page = htmlText(text)
  // Lines of the visible text are not those of the file.
  return { title: page.title, chunks: chunkMarkdown(page.text).map(chunk => ({ ...chunk, line: null })) }
}

function mimeTypeOf(path: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  return MIME_TYPES[extension] ?? 'text/plain'
}

/** Returns the content, or the reason why it is not read. */
export function readContent(file: string, maxBytes: number): Buffer | SkipReason {
  let descriptor: number
  try {
    // The flags prevent following a link that replaced the file meanwhile, and waiting for a pipe.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : code === 'ELOOP' ? 'link' : 'unreadable'
  }
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile()) return 'not_a_file'
    if (found.size > maxBytes) return 'too_large'
    const bytes = Buffer.allocUnsafe(found.size)
    let length = 0
    while (length < bytes.length) {
      const read = readSync(descriptor, bytes, length, bytes.length - length, null)
      // The file has become shorter.
      if (read === 0) break
      length += read
    }
    return bytes.subarray(0, length)
  } catch {
    return 'unreadable'
  } finally {
    closeSync(descriptor)
  }
}
