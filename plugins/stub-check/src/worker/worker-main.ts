import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { Grammars } from '../engine/grammars.ts'
import { emptyScan, scanFile } from '../engine/scan-file.ts'
import type { ScanItem, ScanReply, ScanRequest, ScanResult, ThreadReady, WorkerData } from './protocol.ts'

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
const progress = new Int32Array((workerData as WorkerData).progress)
const opening = Grammars.open()
void opening.then(() => port.postMessage({ ready: true } satisfies ThreadReady))

port.on('message', (request: ScanRequest) => {
  void scan(request).then(reply => port.postMessage(reply))
})

async function scan({ items, options, maxBytes }: ScanRequest): Promise<ScanReply> {
  const grammars = await opening
  const results: ScanResult[] = []
  for (const [index, item] of items.entries()) {
    Atomics.store(progress, 0, index)
    results.push(await scanItem(grammars, item, options, maxBytes))
  }
  return { results }
}

async function scanItem(
  grammars: Grammars,
  item: ScanItem,
  options: ScanRequest['options'],
  maxBytes: number
): Promise<ScanResult> {
  let text: string
  try {
    const read = contentOf(item, maxBytes)
    if (read === null) return { ...emptyScan(item.path, 'skipped'), state: 'too_large', digest: '' }
    text = read
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { ...emptyScan(item.path, 'skipped'), state: 'unreadable', reason: code ?? message, digest: '' }
  }
  const digest = createHash('sha256').update(text).digest('hex')
  if (digest === item.knownDigest) return { ...emptyScan(item.path, 'skipped'), state: 'unchanged', digest }
  try {
    return { ...(await scanFile(grammars, item.path, text, options)), digest }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ...emptyScan(item.path, 'skipped'), state: 'unreadable', reason, digest }
  }
}

/** Returns the content; null if it is larger than `maxBytes`. Throws for anything that is not a regular file. */
function contentOf({ at, text }: ScanItem, maxBytes: number): string | null {
  if (text !== undefined) return text.length > maxBytes ? null : text
  const path = at ?? ''
  const found = statSync(path)
  if (!found.isFile()) throw Object.assign(new Error('not a regular file'), { code: 'ENOTFILE' })
  return found.size > maxBytes ? null : readFileSync(path, 'utf8')
}
