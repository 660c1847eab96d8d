import { speechErrors } from '@svc/contracts'
import type { Tunables } from './tunables.ts'

/** Message by the deadline that expired. */
export type DeadlineOutcome = 'ok' | 'capture_timeout' | 'inference_timeout' | 'deadline_exceeded'

export function timeout(outcome: Exclude<DeadlineOutcome, 'ok'>, deadlineMs: number): Error {
  const what = {
    capture_timeout: 'no data of the recording arrived for',
    inference_timeout: 'the recogniser took longer than',
    deadline_exceeded: 'the time from arrival to text exceeded'
  }[outcome]
  return speechErrors.create('SPC_TIMEOUT', `${outcome}: ${what} ${deadlineMs} ms`, {
    data: { outcome, deadline_ms: deadlineMs },
    hint: 'send a shorter recording, or raise the time limits of plugins.speech'
  })
}

/**
 * Runs a function under the recogniser's deadline and the rest of the total one; the error names the expired one.
 * The signal of the work is aborted with `SPC_TIMEOUT`, or with the reason of the caller's.
 */
export async function withinDeadlines<A>(
  tunables: Tunables,
  started: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<A>
): Promise<A> {
  const { inference_deadline_ms: inference, max_duration_ms: whole } = tunables
  const left = Math.max(0, started + whole - performance.now())
  const first = inference > 0 && inference < left
  const controller = new AbortController()
  const expire = () =>
    controller.abort(first ? timeout('inference_timeout', inference) : timeout('deadline_exceeded', whole))
  const timer = setTimeout(expire, first ? inference : left)
  try {
    return await run(signal === undefined ? controller.signal : AbortSignal.any([controller.signal, signal]))
  } finally {
    clearTimeout(timer)
  }
}
