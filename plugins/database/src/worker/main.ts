import { parentPort, workerData } from 'node:worker_threads'
import { failureOf } from './engine.ts'
import type { WorkerPlace, WorkerReply, WorkerRequest } from './protocol.ts'
import { ConnectionService } from './service.ts'

const port = parentPort
if (port !== null) {
  const service = new ConnectionService(workerData as WorkerPlace)
  let turn: Promise<void> = Promise.resolve()
  port.on('message', (request: WorkerRequest) => {
    turn = turn.then(() => reply(request))
  })
  const reply = async ({ id, op, given }: WorkerRequest): Promise<void> => {
    let answer: WorkerReply
    try {
      answer = { id, ok: true, answer: await service.answer(op, given) }
    } catch (error) {
      const { statement } = error as { statement?: number }
      answer = { id, ok: false, failure: { ...failureOf(error), ...(statement === undefined ? {} : { statement }) } }
    }
    port.postMessage(answer)
    // Its thread ends when nothing holds it any more.
    if (op === 'close') port.close()
  }
}
