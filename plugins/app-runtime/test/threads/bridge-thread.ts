import { parentPort, workerData } from 'node:worker_threads'
import { type BridgeEnd, bridgeTo } from '#threads'

/** Thread that sends the requests it receives over the bridge, and returns the replies. */
const bridge = bridgeTo(workerData as BridgeEnd)
parentPort?.on('message', (questions: readonly (readonly [kind: string, payload: unknown, limit?: number])[]) => {
  const answers = questions.map(([kind, payload, limit]) => {
    try {
      return bridge.ask(kind, payload, limit)
    } catch (error) {
      const { name, code, message, status, hint, data } = error as Record<string, unknown>
      return { name, code, message, status, hint, data }
    }
  })
  parentPort?.postMessage(answers)
})
