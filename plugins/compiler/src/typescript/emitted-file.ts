/** A file that a build writes. */
export interface EmittedFile {
  /** Relative to the build folder, with `/` as separator. */
  readonly path: string
  readonly text: string
}
