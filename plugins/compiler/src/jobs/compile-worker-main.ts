import { parentPort, workerData } from 'node:worker_threads'
import { type CompileJob, doJob } from './compile-job.ts'

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
// A rejection ends the thread with the event `error`.
void doJob(workerData as CompileJob).then(result => port.postMessage(result))
