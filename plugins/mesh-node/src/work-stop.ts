/** Why work on a message ends early. */
export type StopReason = 'cancelled' | 'lost' | 'stopping'

/** Reason of the signal of a job. */
export class WorkStopped extends Error {
  readonly reason: StopReason

  constructor(reason: StopReason, message: string) {
    super(message)
    this.name = 'WorkStopped'
    this.reason = reason
  }
}

/** Returns why a signal was aborted; `stopping` for the signal of another party. */
export function stopReasonOf(signal: AbortSignal): StopReason {
  return signal.reason instanceof WorkStopped ? signal.reason.reason : 'stopping'
}

/** Error of a processor that does not take a job; another machine, or its sender, can. */
export class WorkRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WorkRefused'
  }
}
