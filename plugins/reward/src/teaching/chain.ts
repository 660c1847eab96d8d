import { errorMessage, withTimeout } from '@svc/plugin-sdk'
import type { Link, LinkName } from './link.ts'
import { plainText } from './plain-text.ts'
import { type FixedHint, promptFor } from './prompt.ts'

/** Milliseconds for all links together. */
export const CHAIN_MS = 20_000
const MAX_REASON = 200

export interface TaughtText {
  /** One line of plain text. */
  readonly text: string
  /** Link that wrote the text; `fixed`: none did, so it is the fixed text. */
  readonly source: LinkName | 'fixed'
  /** Links that wrote nothing. */
  readonly failed: readonly { readonly link: LinkName; readonly reason: string }[]
}

export interface ChainOptions {
  /** Conceals known secrets in a text. */
  readonly mask: (text: string) => string
  /** Milliseconds for all links together. Default: 20,000. */
  readonly limitMs?: number
}

/**
 * Returns the text of the first link that writes one. A link has half of the time that is left, the last one all of it,
 * so that a slow one leaves time to the next. Throws only the reason of the signal.
 */
export async function teach(
  hint: FixedHint,
  links: readonly Link[],
  { mask, limitMs = CHAIN_MS }: ChainOptions,
  signal: AbortSignal
): Promise<TaughtText> {
  const failed: { link: LinkName; reason: string }[] = []
  const end = performance.now() + limitMs
  const prompt = promptFor(hint)
  for (const [index, link] of links.entries()) {
    const left = end - performance.now()
    if (left <= 0) {
      failed.push({ link: link.name, reason: 'no time was left' })
      continue
    }
    const time = index === links.length - 1 ? left : left / 2
    try {
      const text = plainText(mask(await withTimeout(time, stop => link.write(prompt, stop), { signal })))
      if (text !== '') return { text, source: link.name, failed }
      failed.push({ link: link.name, reason: 'the answer is empty' })
    } catch (error) {
      signal.throwIfAborted()
      failed.push({ link: link.name, reason: plainText(mask(errorMessage(error)), MAX_REASON) })
    }
  }
  return { text: hint.text, source: 'fixed', failed }
}
