/** A starter program. */
export interface Template {
  /** Summary, as the end of a sentence. */
  readonly summary: string
  readonly program: string
  /** True if `svc run` serves it until interrupted. */
  readonly isServed: boolean
  /** True if it has pages, which `svc build` builds. */
  readonly hasPages?: boolean
}
