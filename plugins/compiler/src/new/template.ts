/** A program to begin with. */
export interface Template {
  /** Summary, as the end of a sentence. */
  readonly summary: string
  readonly program: string
  /** Whether `svc run` serves it until it is interrupted. */
  readonly isServed: boolean
  /** Whether it has pages, which are built with `svc build`. */
  readonly hasPages?: boolean
}
