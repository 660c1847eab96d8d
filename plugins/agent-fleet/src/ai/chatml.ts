import type { ChatMessage } from '@svc/contracts'

/** Stop sequences of a ChatML reply. */
export const CHATML_STOP = ['<|im_end|>', '<|im_start|>']

/**
 * Formats a conversation as one ChatML prompt that ends with the start of the assistant's turn. Escapes ChatML markers
 * in messages.
 */
export function toChatml(messages: readonly ChatMessage[]): string {
  const turns = messages.map(
    ({ role, content }) => `<|im_start|>${role}\n${content.replaceAll('<|im_', '<| im_')}<|im_end|>\n`
  )
  return `${turns.join('')}<|im_start|>assistant\n`
}
