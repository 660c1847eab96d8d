/** One link of the chain: a service that writes a text. */
export interface Link {
  readonly name: LinkName
  /** Returns the answer to a prompt. Throws if the service does not answer completely, or is not set up. */
  write(prompt: string, signal: AbortSignal): Promise<string>
}

/** Links in the order in which they are tried. */
export const LINK_NAMES = ['local', 'pollinations', 'gemini', 'openrouter'] as const
export type LinkName = (typeof LINK_NAMES)[number]

/** Maximum tokens of an answer. */
export const MAX_TOKENS = 300

/** A link that is not set up, so that nothing was sent. */
export class NotSetUp extends Error {
  override readonly name = 'NotSetUp'
}
