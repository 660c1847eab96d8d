import type { TextGrammar, TextGrammarState } from '@svc/contracts'

/** Returns the state after a text; null if the grammar accepts no text with this prefix. */
export function stateAfter(grammar: TextGrammar, text: string): TextGrammarState | null {
  let state: TextGrammarState | null = grammar.start()
  for (const byte of Buffer.from(text)) {
    state = state.advance(byte)
    if (state === null) return null
  }
  return state
}

/** Returns whether the grammar accepts a text with this prefix. */
export function isPrefixOf(grammar: TextGrammar, text: string): boolean {
  return stateAfter(grammar, text) !== null
}
