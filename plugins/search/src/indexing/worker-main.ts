import { parentPort, workerData } from 'node:worker_threads'
import { Outlines } from './outline.ts'
import type { IndexReply, IndexRequest, ReadFile, WorkerData } from './protocol.ts'
import { readForIndex, readSymbols } from './read.ts'
import { check, walk } from './walk.ts'

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
const progress = new Int32Array((workerData as WorkerData).progress)
const step = (): void => void Atomics.add(progress, 0, 1)

/** Null if the grammars cannot be loaded: files then have no symbols. */
let opening: Promise<Outlines | null> | undefined

port.on('message', (request: IndexRequest) => {
  void replyTo(request).then(reply => port.postMessage(reply))
})
port.postMessage({ ready: true })

async function replyTo(request: IndexRequest): Promise<IndexReply> {
  if (request.kind === 'walk') return walk(request, step)
  if (request.kind === 'check') return check(request, step)
  const { root, items, maxBytes, symbols } = request
  if (symbols === true) opening ??= Outlines.open().catch(() => null)
  const outlines = symbols === true ? await opening : undefined
  const files: ReadFile[] = []
  for (const [index, item] of items.entries()) {
    Atomics.store(progress, 1, index)
    step()
    files.push(
      symbols === true ? await readSymbols(root, item, maxBytes, outlines ?? null) : readForIndex(root, item, maxBytes)
    )
  }
  return { files }
}
