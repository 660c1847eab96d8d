import { errorMessage } from '@svc/plugin-sdk'
import { type Chunk, chunkLines, cut } from '../indexing/chunk.ts'
import type { SkipReason } from '../indexing/protocol.ts'

/** Text of all pages of a document in characters. */
const MAX_TEXT_CHARS = 16_777_216
const MAX_TITLE_CHARS = 300
/** A reader finds the mark of the format within these bytes. */
const PROBE_BYTES = 1_024

export interface PdfText {
  /** Null if the document has none. */
  readonly title: string | null
  /** Chunks with the numbers of their pages. No chunk has text of two pages. */
  readonly chunks: readonly Chunk[]
}

/**
 * Reads the text of a PDF document. `onPage` is called before each page. Returns the reason why there is no text.
 * Hostile documents may take any time and memory: run it in a process with limits.
 */
export async function pdfText(
  bytes: Uint8Array,
  maxPages: number,
  onPage: () => void
): Promise<PdfText | { readonly reason: SkipReason }> {
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(0, PROBE_BYTES).includes('%PDF-'))
    return { reason: 'malformed' }
  // The library takes 0.3 s to load.
  const { getDocument } = await import('unpdf/pdfjs')
  const task = getDocument({
    data: bytes,
    verbosity: 0,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false
  })
  try {
    const document = await task.promise
    if (document.numPages > maxPages) return { reason: 'too_many_pages' }
    const chunks: Chunk[] = []
    let size = 0
    let failed = 0
    for (let page = 1; page <= document.numPages; page++) {
      onPage()
      const text = await pageText(document, page)
      if (text === null) failed += 1
      else {
        size += text.length
        if (size > MAX_TEXT_CHARS) return { reason: 'too_much_text' }
        chunks.push(...chunkLines(text).map(chunk => ({ ...chunk, line: null, page })))
      }
    }
    if (chunks.length === 0) return { reason: failed > 0 ? 'malformed' : 'no_text' }
    return { title: await titleOf(document), chunks }
  } catch (error) {
    return { reason: (error as Error).name === 'PasswordException' ? 'encrypted' : malformed(error) }
  } finally {
    await task.destroy().catch(() => undefined)
  }
}

type PdfDocument = Awaited<ReturnType<typeof import('unpdf/pdfjs')['getDocument']>['promise']>

/** Returns null if the page cannot be read; the others may be. */
async function pageText(document: PdfDocument, number: number): Promise<string | null> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup()
    const parts = items.map(item => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
    // Half surrogates and U+0000 cannot be stored.
    return Buffer.from(parts.join('')).toString().replaceAll('\0', '')
  } catch {
    return null
  }
}

async function titleOf(document: PdfDocument): Promise<string | null> {
  const found = await document.getMetadata().catch(() => null)
  const title = (found?.info as { readonly Title?: unknown } | undefined)?.Title
  const shown = typeof title === 'string' ? cut(title.replace(/\s+/g, ' ').trim(), MAX_TITLE_CHARS) : ''
  return shown.replaceAll('\0', '') || null
}

/** The library throws errors of many kinds for broken documents. Without memory, it is not the document's fault. */
function malformed(error: unknown): SkipReason {
  return /allocation failed|Invalid typed array length|out of memory/i.test(errorMessage(error))
    ? 'out_of_memory'
    : 'malformed'
}
