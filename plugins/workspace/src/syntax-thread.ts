import { Worker } from 'node:worker_threads'
import { errorMessage, limitedSignal } from '@svc/plugin-sdk'
import { type ParsedLanguage, type Problem, syntaxProblems } from './syntax-problems.ts'

/** Built program of the thread, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/syntax-worker.cjs' : './syntax-worker.cjs',
  import.meta.url
)
/** Length up to which a text is parsed at once. Parsers take at most about 20 ms for it, some quadratic time beyond. */
const MAX_INLINE_CHARS = 2_048
const MAX_HEAP_MB = 512

/** Time limit of a check in milliseconds. */
export const CHECK_TIMEOUT_MS = 10_000

export interface SyntaxJob {
  readonly language: ParsedLanguage
  readonly text: string
}

/**
 * Parses a text in a thread, so that a long one does not block the event loop. A check that exceeds its time or memory is a
 * problem of the text. Throws the reason of the signal.
 */
export async function checkSyntax(
  job: SyntaxJob,
  signal: AbortSignal,
  timeoutMs = CHECK_TIMEOUT_MS
): Promise<readonly Problem[]> {
  if (job.text.length <= MAX_INLINE_CHARS) return syntaxProblems(job.language, job.text)
  signal.throwIfAborted()
  const worker = new Worker(SCRIPT, {
    workerData: job,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
  })
  const limit = limitedSignal(signal, timeoutMs)
  try {
    return await new Promise<readonly Problem[]>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', error => resolve(unfinished(errorMessage(error))))
      worker.once('exit', () => resolve(unfinished('its thread ended')))
      limit.addEventListener('abort', () => {
        if (signal.aborted) reject(signal.reason)
        else resolve(unfinished(`its time limit is ${timeoutMs} ms`))
      })
    })
  } finally {
    await worker.terminate()
  }
}

/** Returns the problem of a check that did not finish. */
export function unfinished(reason: string): readonly Problem[] {
  const message = `the check did not finish: ${reason}`
  return [{ line: null, column: null, severity: 'error', message }]
}
