import { parentPort, workerData } from 'node:worker_threads'
import type { IndexReply, IndexRequest, WorkerData } from './protocol.ts'
import { readForIndex } from './read.ts'
import { check, walk } from './walk.ts'

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
const progress = new Int32Array((workerData as WorkerData).progress)
const step = (): void => void Atomics.add(progress, 0, 1)

port.on('message', (request: IndexRequest) => port.postMessage(replyTo(request)))
port.postMessage({ ready: true })

function replyTo(request: IndexRequest): IndexReply {
  if (request.kind === 'walk') return walk(request, step)
  if (request.kind === 'check') return check(request, step)
  const files = request.items.map((item, index) => {
    Atomics.store(progress, 1, index)
    step()
    return readForIndex(request.root, item, request.maxBytes)
  })
  return { files }
}
