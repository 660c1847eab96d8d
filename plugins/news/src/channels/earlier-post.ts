import { type ChannelContext, type ChannelReceipt, isRemoteFailure, RemoteFailure } from '@svc/contracts'

/** Difference that the clocks of this machine and of a service may have. */
export const CLOCK_SKEW_MS = 10 * 60_000

/** Unix milliseconds. */
export interface SendingTimes {
  readonly first_sent_at_ms: number
  readonly sent_at_ms: number
}

export interface EarlierPostOptions {
  readonly service: string
  /** Milliseconds after sending within which a post may be missing in the lists of the service. */
  readonly settleMs: number
  /** Looks for the post. `sinceMs`: Unix milliseconds before which it cannot have been sent. */
  look(sinceMs: number): Promise<ChannelReceipt | null>
}

/**
 * Returns the post that an earlier attempt may have created, or null if there is none, or if no attempt has saved the times
 * of {@link sendingNow}, as each does before it sends. Throws the code
 * `outcome_unknown` if the service does not let the account look, and a transient failure while the post may not be
 * listed yet.
 */
export async function findEarlierPost(
  context: ChannelContext,
  { service, settleMs, look }: EarlierPostOptions
): Promise<ChannelReceipt | null> {
  if (!context.mayExist) return null
  const sentAt = timeAt(context, 'sent_at_ms')
  const firstSentAt = timeAt(context, 'first_sent_at_ms') ?? sentAt
  // The times are saved before anything is sent: an older post with the same text is another one.
  if (firstSentAt === null) return null
  const found = await lookOrGiveUp(service, 'an earlier attempt may have sent the post', () =>
    look(Math.max(0, firstSentAt - CLOCK_SKEW_MS))
  )
  if (found !== null) return found
  const waitMs = sentAt === null ? 0 : sentAt + settleMs - Date.now()
  if (waitMs <= 0) return null
  throw new RemoteFailure(`${service}: the earlier attempt may still appear in the lists; svc looks again later`, {
    failureClass: 'transient',
    code: 'outcome_pending',
    retryAfterMs: Math.min(waitMs, settleMs),
    outcomeUnknown: true
  })
}

/** Returns a checkpoint with the times of the first attempt, and of the one that begins. */
export function sendingNow(context: ChannelContext): Readonly<Record<keyof SendingTimes, number>> {
  const now = Date.now()
  return { first_sent_at_ms: timeAt(context, 'first_sent_at_ms') ?? now, sent_at_ms: now }
}

/** Returns the failure of an attempt whose outcome a person has to find out. */
export function outcomeUnknown(service: string, why: string): RemoteFailure {
  return new RemoteFailure(`${service}: ${why}; look at the account, then use svc news resolve`, {
    failureClass: 'fatal',
    code: 'outcome_unknown',
    outcomeUnknown: true
  })
}

/** Looks for a post. If the account may not look, throws the code `outcome_unknown` with what is known. */
export async function lookOrGiveUp<A>(service: string, known: string, look: () => Promise<A>): Promise<A> {
  try {
    return await look()
  } catch (error) {
    if (!isRemoteFailure(error) || error.retryable || error.code === 'outcome_unknown') throw error
    // With another token, svc looks again.
    if (error.httpStatus === 401 || error.code === 'oauth_refused') throw error
    throw outcomeUnknown(service, `${known}, and it cannot be looked up (${error.code})`)
  }
}

/**
 * Throws the code `outcome_unknown` if a list in which the post was not found may lack it: the list is full, and all its
 * entries are newer than the first attempt. `times`: Unix milliseconds of the entries; others than numbers count as newer.
 */
export function checkComplete(service: string, times: readonly number[], limit: number, sinceMs: number): void {
  // Without a time, no attempt has sent anything.
  if (sinceMs > 0 && times.length >= limit && !times.some(time => time < sinceMs))
    throw outcomeUnknown(service, `the post is not among the latest ${limit} entries of the account`)
}

/** Returns a time of the checkpoint in Unix milliseconds, or null. */
export function timeAt({ checkpoint }: ChannelContext, name: keyof SendingTimes): number | null {
  const at = checkpoint?.[name]
  return typeof at === 'number' && Number.isFinite(at) ? at : null
}
