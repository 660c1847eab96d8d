/** Where a bed keeps its files, and what closes it. */
export interface BedPlace {
  readonly folder: string
  /** Calls `close` at the end, the last one first. */
  teardown(close: () => unknown): void
}
