import { Worker } from 'node:worker_threads'
import { errorMessage, limitedSignal, raceAbort, Semaphore } from '@svc/plugin-sdk'
import { compilerErrors } from '../errors.ts'
import { type CompileJob, doJob, type JobResult, type Results } from './compile-job.ts'

/** Built program of the thread, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/compile-worker.cjs' : './compile-worker.cjs',
  import.meta.url
)
/** Length up to which a source is compiled on the calling thread: about 20 ms of a warm compiler. */
export const MAX_INLINE_CHARS = 8_192
/** The compiler needs up to 250 bytes for a character of a source. */
const MAX_HEAP_MB = 2_048
const MAX_MS = 60_000
/** Threads that run at the same time; further jobs wait. */
const threads = new Semaphore(2)

/**
 * Does a job, in a thread if its source is long. Throws `CMP_LIMIT` if it exceeds its time or memory, and the reason of
 * the signal.
 */
export async function compileSource<K extends keyof Results>(
  job: CompileJob & { readonly kind: K },
  signal: AbortSignal,
  maxMs = MAX_MS
): Promise<JobResult<K>> {
  signal.throwIfAborted()
  if (job.text.length <= MAX_INLINE_CHARS) return (await doJob(job)) as JobResult<K>
  await threads.acquire(granted => raceAbort(signal, granted))
  try {
    return (await inThread(job, signal, maxMs)) as JobResult<K>
  } finally {
    threads.release()
  }
}

async function inThread(job: CompileJob, signal: AbortSignal, maxMs: number): Promise<JobResult> {
  signal.throwIfAborted()
  const worker = new Worker(SCRIPT, {
    workerData: job,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
  })
  const either = limitedSignal(signal, maxMs)
  const failed = (reason: string): Error =>
    compilerErrors.create('CMP_LIMIT', `${job.path} cannot be compiled: ${reason}`, {
      hint: 'split the source into several files'
    })
  try {
    return await new Promise<JobResult>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') reject(failed(`it needs more than ${MAX_HEAP_MB} MB of memory`))
        else reject(new Error(`the compiler failed on ${job.path}: ${errorMessage(error)}`, { cause: error }))
      })
      worker.once('exit', () => reject(failed('its thread ended')))
      either.addEventListener('abort', () => {
        if (signal.aborted) reject(signal.reason as Error)
        else reject(failed(`it takes more than ${maxMs} ms`))
      })
    })
  } finally {
    await worker.terminate()
  }
}
