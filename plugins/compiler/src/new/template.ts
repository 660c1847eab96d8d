/** A starter program. */
export interface Template {
  /** Summary, in lower case and without a full stop. */
  readonly summary: string
  readonly program: string
  /** True if `svc run` serves the program until it is interrupted. */
  readonly isServed: boolean
  /** True if the program has pages, which `svc build` builds. */
  readonly hasPages?: boolean
}
