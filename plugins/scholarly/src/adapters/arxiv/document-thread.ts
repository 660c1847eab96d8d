import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import {
  type PreflightFinding,
  type PublicationManifest,
  RemoteFailure,
  type RemoteFailureDetails
} from '@svc/contracts'
import { errorMessage, limitedSignal, raceAbort, Semaphore } from '@svc/plugin-sdk'
import type { Figure } from './writer.ts'

/** Program of the thread, next to the compiled plugin: threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/arxiv-document.cjs' : './arxiv-document.cjs',
  import.meta.url
)
const MAX_HEAP_MB = 512
/** Time for a body. A long paper takes less than a second, but some Markdown takes hours. */
export const DOCUMENT_LIMIT_MS = 30_000

/** Threads that run at once; further conversions wait, which does not count as their time. */
const threads = new Semaphore(2)

/** Document with its findings. */
export interface CheckedDocument {
  readonly tex: string
  readonly figures: readonly Figure[]
  readonly findings: readonly PreflightFinding[]
}

export type DocumentReply =
  | CheckedDocument
  | { readonly failure: Pick<RemoteFailureDetails, 'failureClass' | 'code'> & { readonly message: string } }

/**
 * Writes and checks main.tex of a publication in a thread, so that a body that takes long blocks nothing else, and ends.
 * Throws {@link RemoteFailure}, with code `body_too_complex` after the time limit, and the reason of the signal.
 */
export async function checkedDocument(
  manifest: PublicationManifest,
  limitMs: number,
  signal: AbortSignal
): Promise<CheckedDocument> {
  await threads.acquire(granted => raceAbort(signal, granted))
  try {
    return await inThread(manifest, limitMs, signal)
  } finally {
    threads.release()
  }
}

async function inThread(manifest: PublicationManifest, limitMs: number, signal: AbortSignal): Promise<CheckedDocument> {
  const worker = new Worker(SCRIPT, {
    execArgv: [],
    workerData: manifest,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
  })
  let reply: DocumentReply
  try {
    ;[reply] = (await once(worker, 'message', { signal: limitedSignal(signal, limitMs) })) as [DocumentReply]
  } catch (error) {
    signal.throwIfAborted()
    const isLate = (error as Error).name === 'AbortError'
    const problem = isLate ? `takes longer than ${limitMs} ms` : `cannot be converted: ${errorMessage(error)}`
    throw new RemoteFailure(`The body ${problem}; simplify its Markdown`, {
      failureClass: 'preflight',
      code: 'body_too_complex'
    })
  } finally {
    await worker.terminate()
  }
  if (!('failure' in reply)) return reply
  const { message, ...details } = reply.failure
  throw new RemoteFailure(message, details)
}
