import type { ChatMessage } from '@svc/contracts'

/** Ends an answer in ChatML. */
export const CHATML_STOP = ['<|im_end|>', '<|im_start|>']

/**
 * A conversation as one ChatML text that ends at the start of the assistant's turn. ChatML marks inside a message are
 * escaped.
 */
export function toChatml(messages: readonly ChatMessage[]): string {
  const turns = messages.map(
    ({ role, content }) => `<|im_start|>${role}\n${content.replaceAll('<|im_', '<| im_')}<|im_end|>\n`
  )
  return `${turns.join('')}<|im_start|>assistant\n`
}
