import { parentPort, workerData } from 'node:worker_threads'
import { defined } from '@svc/plugin-sdk'
import type { WorkerPlace, WorkerReply, WorkerRequest } from './protocol.ts'
import { ConnectionService } from './service.ts'

/** Maximum delay of a reply, so that several replies share one message. */
const MAX_BATCH_MS = 1

const port = parentPort
if (port !== null) {
  const service = new ConnectionService(workerData as WorkerPlace)
  let turn: Promise<void> = Promise.resolve()
  port.on('message', (requests: readonly WorkerRequest[]) => {
    turn = turn.then(() => answerAll(requests))
  })

  const answerAll = async (requests: readonly WorkerRequest[]): Promise<void> => {
    let replies: WorkerReply[] = []
    let since = performance.now()
    const flush = (): void => {
      if (replies.length > 0) port.postMessage(replies)
      replies = []
      since = performance.now()
    }
    for (const request of requests) {
      replies.push(await answer(request))
      if (performance.now() - since > MAX_BATCH_MS) flush()
    }
    flush()
    // The thread ends when its port is closed.
    if (requests.some(({ op }) => op === 'close')) port.close()
  }

  const answer = async ({ id, op, given }: WorkerRequest): Promise<WorkerReply> => {
    try {
      return { id, ok: true, answer: await service.answer(op, given) }
    } catch (error) {
      const { statement } = error as { statement?: number }
      return {
        id,
        ok: false,
        failure: { ...service.failureOf(error), ...defined({ statement }) }
      }
    }
  }
}
