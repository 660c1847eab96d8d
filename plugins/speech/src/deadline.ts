import { speechErrors } from '@svc/contracts'
import type { Tunables } from './tunables.ts'

/** `ok`, or the deadline that expired. */
export type DeadlineOutcome = 'ok' | 'capture_timeout' | 'inference_timeout' | 'deadline_exceeded'

export function timeout(outcome: Exclude<DeadlineOutcome, 'ok'>, deadlineMs: number): Error {
  const problem = {
    capture_timeout: 'no data of the recording arrived for',
    inference_timeout: 'the recogniser took longer than',
    deadline_exceeded: 'the time from arrival to text exceeded'
  }[outcome]
  return speechErrors.create('SPC_TIMEOUT', `${outcome}: ${problem} ${deadlineMs} ms`, {
    data: { outcome, deadline_ms: deadlineMs },
    hint: 'send a shorter recording, or raise the time limits of plugins.speech'
  })
}

/**
 * Runs a function under two deadlines: that of the recogniser and the rest of the total one. Its signal is aborted with
 * `SPC_TIMEOUT`, which names the expired deadline, or with the reason of the caller's signal.
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
