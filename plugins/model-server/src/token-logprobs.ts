import type { GenerateEvent, TokenLogprob } from '@svc/contracts'

/** Log probability of a token, in the form that both APIs use. */
export interface LogprobEntry {
  readonly token: string
  readonly logprob: number
  /** UTF-8 bytes; null for a token that is part of a character. */
  readonly bytes: readonly number[] | null
  readonly top_logprobs: readonly Omit<LogprobEntry, 'top_logprobs'>[]
}

/** Converts log probabilities. Returns undefined if the engine reports none. */
export function logprobEntries(
  event: Pick<Extract<GenerateEvent, { type: 'text' }>, 'logprobs'>
): readonly LogprobEntry[] | undefined {
  return event.logprobs?.map(token => ({ ...entry(token), top_logprobs: token.top.map(entry) }))
}

function entry({ text, logprob }: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> {
  return { token: text, logprob, bytes: text.includes('\ufffd') ? null : [...Buffer.from(text)] }
}
