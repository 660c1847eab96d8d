import type { ChatMessage } from '@svc/contracts'

const MARK = '\n[…]\n'
/** Shorter messages are not worth cutting. */
export const MIN_CUT = 400

/**
 * Shortens messages to a maximum of characters each. Cuts the middle: a prompt starts with rules and ends with the
 * request.
 */
export function shorten(messages: readonly ChatMessage[], most: number): readonly ChatMessage[] {
  return messages.map(message => {
    const { content } = message
    if (content.length <= most) return message
    const kept = most - MARK.length
    const head = Math.floor(kept / 3)
    return { ...message, content: `${content.slice(0, head)}${MARK}${content.slice(head - kept)}` }
  })
}

export function longestOf(messages: readonly ChatMessage[]): number {
  return Math.max(0, ...messages.map(({ content }) => content.length))
}
