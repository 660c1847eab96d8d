/** One subscription of a connection, as its feed sees it. */
export interface Subscriber {
  /** True if a frame can be sent: the last one is acknowledged, and the socket takes more. */
  readonly isReady: boolean
  /** False if the page is hidden, and gets fewer frames. */
  readonly isVisible: boolean
  /** Feed version of the last data that was sent or skipped. */
  seen: number
  /** Number of the last snapshot that was sent; 0: none. */
  snapshot: number
  /** Cursor of the last delta; undefined before the first. */
  cursor: string | undefined
  /** Maximum number of changes of a delta. */
  limit: number
  /** True if the last delta was not complete. */
  more: boolean
  /** Time of the last read or frame, in milliseconds of the monotonic clock; -Infinity before the first. */
  servedAt: number
  /** True if the page shows no data, or an error: it then gets data even if nothing changed. */
  needsData: boolean
  /** Sends data as JSON. */
  send(kind: 'value' | 'delta', json: string): void
  /** Reports an error, unless it is the same as the last one. */
  fail(error: unknown): void
}
