import { parentPort, workerData } from 'node:worker_threads'
import type { Job, JobEvent } from './job.ts'
import { perform } from './perform.ts'
import { failureOf } from './run-failure.ts'

const port = parentPort
if (port !== null) {
  const report = (message: JobEvent): void => port.postMessage(message)
  try {
    report({ kind: 'done', outcome: perform(workerData as Job, report) })
  } catch (error) {
    report({ kind: 'failed', failure: failureOf(error) })
  }
}
