import { createRequire } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { onnxRuntimePackage } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { Recognition } from './recognition.ts'
import type { Ort } from './sessions.ts'
import type { JobRequest, WorkerReply, WorkerRequest } from './worker-protocol.ts'

if (parentPort === null) throw new Error('this program must run in a thread')
const port = parentPort
const load = createRequire(import.meta.url)
const recognition = new Recognition(load(onnxRuntimePackage(load)) as Ort)
/** End of the last recording. They run one at a time, because each uses all cores. */
let last: Promise<void> = Promise.resolve()

port.on('message', (request: WorkerRequest) => {
  last = last.then(async () => {
    if (request.kind === 'job') port.postMessage(await reply(request))
    else {
      await recognition.close()
      port.close()
    }
  })
})

async function reply({ id, plan, recording, cancelled }: JobRequest): Promise<WorkerReply> {
  const check = () => {
    if (Atomics.load(cancelled, 0) === 1) throw new Error('the caller cancelled the recording')
  }
  try {
    return { id, result: await recognition.recognise(recording, plan, check) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!isSvcError(error)) return { id, error: { code: null, message } }
    return { id, error: { code: error.code, message, ...(error.hint === undefined ? {} : { hint: error.hint }) } }
  }
}
