/** A file that a build writes. */
export interface EmittedFile {
  /** Relative to the folder of the build, with `/`. */
  readonly path: string
  readonly text: string
}
