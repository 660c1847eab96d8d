import type { ChatMessage } from '@svc/contracts'

const MARK = '\n[…]\n'
/** Minimum characters to which a message is shortened. */
export const MIN_CUT = 400

/**
 * Shortens each message to a maximum of characters. Cuts the middle, because a prompt starts with rules and ends with
 * the request.
 */
export function shorten(messages: readonly ChatMessage[], maxLength: number): readonly ChatMessage[] {
  return messages.map(message => {
    const { content } = message
    if (content.length <= maxLength) return message
    const remaining = maxLength - MARK.length
    const head = Math.floor(remaining / 3)
    return { ...message, content: `${content.slice(0, head)}${MARK}${content.slice(head - remaining)}` }
  })
}

export function longestOf(messages: readonly ChatMessage[]): number {
  return Math.max(0, ...messages.map(({ content }) => content.length))
}
