import { point } from '@svc/plugin-sdk'

/** Sections that plugins add to support bundles. */
export const supportSections = point<SupportSection>('support.sections', {
  keys: ({ name }) => [`support section ${name}`]
})

export interface SupportSection {
  /** Lower-case letters, digits and hyphens; begins with the plugin's name. */
  readonly name: string
  /** Noun phrase for its content. The user reads it before the bundle is written. */
  readonly summary: string
  /**
   * Returns JSON without secrets, prompts and contents of files. Known secrets and what looks like one are masked in any
   * case.
   */
  collect(signal: AbortSignal): unknown
}
