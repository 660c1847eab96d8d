import type { TextGrammar, TextGrammarState } from '@svc/contracts'

/** The state after a text; null if the text is no prefix of the grammar. */
export function stateAfter(grammar: TextGrammar, text: string): TextGrammarState | null {
  let state: TextGrammarState | null = grammar.start()
  for (const byte of Buffer.from(text)) {
    state = state.advance(byte)
    if (state === null) return null
  }
  return state
}

/** True if the text is a prefix of the grammar. */
export function isPrefixOf(grammar: TextGrammar, text: string): boolean {
  return stateAfter(grammar, text) !== null
}
