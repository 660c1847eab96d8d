import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { disableOnnxTelemetry, speechErrors } from '@svc/contracts'
import type { JobRequest, Plan, RecognitionResult, Recording, WorkerReply, WorkerRequest } from './worker-protocol.ts'

/** The built script, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/whisper-worker.cjs' : './whisper-worker.cjs',
  import.meta.url
)

/** Returns the digest of the thread's script. A running thread is kept only if the script is the same. */
export async function programDigest(): Promise<string> {
  const program = await readFile(SCRIPT).catch(() => '')
  return createHash('sha256').update(program).digest('hex').slice(0, 16)
}

interface Pending {
  readonly cancelled: Int32Array
  resolve(result: RecognitionResult): void
  reject(error: unknown): void
}

/**
 * Recognises recordings in a separate thread, one after another. The thread starts with the first recording, and keeps
 * the model loaded. If it crashes, its recordings fail, and the next one starts a new thread.
 */
export class WhisperThread {
  readonly #script: URL
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | null = null
  #next = 0
  #closed = false
  #device: string | null = null

  constructor(script = SCRIPT) {
    this.#script = script
  }

  /** Number of running and waiting recordings. */
  get load(): number {
    return this.#pending.size
  }

  /** Device of the last recording; null before the first. */
  get device(): string | null {
    return this.#device
  }

  /** Recognises a recording. Throws the thread's `SPC_` errors, `SPC_RECOGNISER_FAILED`, and the signal's reason. */
  recognise(recording: Recording, plan: Plan, signal: AbortSignal): Promise<RecognitionResult> {
    signal.throwIfAborted()
    if (this.#closed) throw speechErrors.create('SPC_RECOGNISER_FAILED', 'the recogniser is closed')
    const worker = (this.#worker ??= this.#start())
    const id = this.#next++
    const cancelled = new Int32Array(new SharedArrayBuffer(4))
    const request: JobRequest = { kind: 'job', id, plan, recording, cancelled }
    return new Promise<RecognitionResult>((resolve, reject) => {
      const cancel = () => {
        Atomics.store(cancelled, 0, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', cancel, { once: true })
      const settled = () => signal.removeEventListener('abort', cancel)
      this.#pending.set(id, {
        cancelled,
        resolve: result => {
          settled()
          resolve(result)
        },
        reject: error => {
          settled()
          reject(error)
        }
      })
      worker.ref()
      worker.postMessage(request)
    })
  }

  /** Ends the thread after its current step: terminating it during a step would crash the process. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === null) return
    for (const { cancelled } of this.#pending.values()) Atomics.store(cancelled, 0, 1)
    const ended = new Promise<unknown>(resolve => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage({ kind: 'end' } satisfies WorkerRequest)
    await ended
  }

  #start(): Worker {
    disableOnnxTelemetry()
    const worker = new Worker(this.#script)
    worker.unref()
    worker.on('message', (reply: WorkerReply) => this.#settle(worker, reply))
    worker.on('error', error => this.#lose(worker, `ended with an error: ${error.message}`))
    worker.on('exit', () => this.#lose(worker, 'ended'))
    return worker
  }

  #settle(worker: Worker, reply: WorkerReply): void {
    const pending = this.#pending.get(reply.id)
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0 && !this.#closed) worker.unref()
    if ('result' in reply) {
      this.#device = reply.result.device
      pending?.resolve(reply.result)
    } else pending?.reject(errorOf(reply.error))
  }

  #lose(worker: Worker, why: string): void {
    if (this.#worker !== worker) return
    this.#worker = null
    const error = speechErrors.create('SPC_RECOGNISER_FAILED', `the thread of the recogniser ${why}`)
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

function errorOf({ code, message, hint }: { code: string | null; message: string; hint?: string }): Error {
  const known = code !== null && code in speechErrors.specs
  return speechErrors.create(
    known ? (code as keyof typeof speechErrors.specs) : 'SPC_RECOGNISER_FAILED',
    known ? message : `the recogniser failed: ${message}`,
    hint === undefined ? {} : { hint }
  )
}
