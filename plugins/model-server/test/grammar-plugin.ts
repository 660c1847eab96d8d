import { inferenceGrammars, type TextGrammar, type TextGrammarState } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'

/** Returns a plugin that provides a grammar: a letter in nested pairs of brackets. */
export function grammarPlugin(name = 'bracket-language', grammar = 'brackets'): Plugin {
  return definePlugin({
    name,
    activate(ctx) {
      ctx.contribute(inferenceGrammars, { name: grammar, summary: 'Brackets around a letter', open: brackets })
    }
  })
}

const [OPEN, CLOSE, LETTER] = Buffer.from('()x')

function brackets(): TextGrammar {
  const state = (depth: number, filled: boolean): TextGrammarState => ({
    key: `${depth} ${filled}`,
    accepting: filled && depth === 0,
    advance(byte) {
      if (byte === OPEN && !filled) return state(depth + 1, false)
      if (byte === LETTER && !filled && depth > 0) return state(depth, true)
      return byte === CLOSE && filled && depth > 0 ? state(depth - 1, true) : null
    }
  })
  return { start: () => state(0, false) }
}
