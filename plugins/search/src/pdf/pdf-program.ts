// Reads PDF documents in a separate process: a thread cannot limit the memory that documents inflate to.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { ReadFile, SkipReason } from '../indexing/protocol.ts'
import { readContent, skipped } from '../indexing/read.ts'
import type { PdfReply, PdfRequest } from './pdf-process.ts'
import { pdfText } from './pdf-text.ts'

const MAX_HEAP_MB = 384
const MAX_RESIDENT_BYTES = 536_870_912
const POLL_MS = 25
/** Time of a document as a multiple of the time of a page. */
const DOCUMENT_STEPS = 6

if (isMainThread) watch()
else serve(new Int32Array(workerData as SharedArrayBuffer))

/** Passes requests to a thread, which may hang, and ends the process when a document exceeds a limit. */
function watch(): void {
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(new URL(import.meta.url), {
    workerData: progress.buffer,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
  })
  let current: { readonly request: PdfRequest; readonly since: number; page: number; pageSince: number } | null = null
  const end = (reason: SkipReason): void => {
    if (current === null) process.exit(1)
    send({ file: skipped(current.request.path, reason, ''), isOver: true }, () => process.exit(1))
    current = null
  }
  setInterval(() => {
    if (current === null) return
    const now = performance.now()
    const { stepMs } = current.request
    const page = Atomics.load(progress, 0)
    if (page !== current.page) Object.assign(current, { page, pageSince: now })
    if (process.memoryUsage.rss() > MAX_RESIDENT_BYTES) end('out_of_memory')
    else if (now - current.pageSince > stepMs || now - current.since > DOCUMENT_STEPS * stepMs) end('timed_out')
  }, POLL_MS)
  thread.on('message', (file: ReadFile) => {
    current = null
    send({ file, isOver: false })
  })
  thread.on('error', error =>
    end((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'malformed')
  )
  process.on('message', (request: PdfRequest) => {
    const now = performance.now()
    current = { request, since: now, page: Atomics.load(progress, 0), pageSince: now }
    thread.postMessage(request)
  })
  process.on('disconnect', () => process.exit())
  send('ready')
}

function send(message: PdfReply | 'ready', then?: () => void): void {
  process.send?.(message, undefined, undefined, then)
}

function serve(progress: Int32Array): void {
  parentPort?.on('message', (request: PdfRequest) => {
    const onPage = (): void => void Atomics.add(progress, 0, 1)
    void readPdf(request, onPage).then(file => parentPort?.postMessage(file))
  })
}

async function readPdf(
  { root, path, knownHash, maxBytes, maxPages }: PdfRequest,
  onPage: () => void
): Promise<ReadFile> {
  const content = readContent(join(root, path), maxBytes)
  if (typeof content === 'string') return skipped(path, content, '')
  const hash = createHash('sha256').update(content).digest('hex')
  if (hash === knownHash) return { ...skipped(path, null, hash), state: 'unchanged' }
  const found = await pdfText(new Uint8Array(content), maxPages, onPage)
  // Without a hash, the document is read again, as the setting may have changed.
  if ('reason' in found) return skipped(path, found.reason, found.reason === 'too_many_pages' ? '' : hash)
  const { title, chunks } = found
  const mimeType = 'application/pdf'
  return { path, state: 'read', reason: null, hash, title: title ?? path, mimeType, chunks, symbols: [] }
}
