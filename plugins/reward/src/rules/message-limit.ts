const WINDOW_MS = 3_600_000

/** Window of messages: Unix milliseconds of its first message, and the messages in it. */
export interface MessageWindow {
  readonly start: number
  readonly count: number
}

/**
 * Returns the window after another message; null if the limit is reached. A window begins with its first message and ends
 * 3,600 s later. A message that is up to 3,600 s older than the window counts in it.
 */
export function admitMessage({ start, count }: MessageWindow, at: number, limit: number): MessageWindow | null {
  if (limit <= 0) return null
  if (Math.abs(at - start) >= WINDOW_MS) return { start: at, count: 1 }
  return count < limit ? { start, count: count + 1 } : null
}
