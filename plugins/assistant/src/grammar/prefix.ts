import type { TextGrammar, TextGrammarState } from '@svc/contracts'

/** The state after a text; null where no text of the grammar begins so. */
export function stateAfter(grammar: TextGrammar, text: string): TextGrammarState | null {
  let state: TextGrammarState | null = grammar.start()
  for (const byte of Buffer.from(text)) {
    state = state.advance(byte)
    if (state === null) return null
  }
  return state
}

/** Whether a text of the grammar begins with this one. */
export function isPrefixOf(grammar: TextGrammar, text: string): boolean {
  return stateAfter(grammar, text) !== null
}
