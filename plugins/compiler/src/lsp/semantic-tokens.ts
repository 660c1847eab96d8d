import { type SemanticTokens, SemanticTokensBuilder, type SemanticTokensLegend } from 'vscode-languageserver'
import type { SymbolKind } from '../symbols/symbol.ts'
import type { Span } from '../syntax/node.ts'
import { Kind, LAST_KEYWORD } from '../syntax/token.ts'
import type { Analysis } from './analysis.ts'

const TYPES = [
  'function',
  'variable',
  'keyword',
  'type',
  'string',
  'number',
  'comment',
  'decorator',
  'parameter'
] as const
type TokenType = (typeof TYPES)[number]

const MODIFIERS = ['declaration', 'definition', 'readonly'] as const

export const semanticTokensLegend: SemanticTokensLegend = {
  tokenTypes: [...TYPES],
  tokenModifiers: [...MODIFIERS]
}

const DEFINITION = 1 << MODIFIERS.indexOf('definition')
const READONLY = 1 << MODIFIERS.indexOf('readonly')

const OF_SYMBOLS: Readonly<Record<SymbolKind, TokenType>> = {
  function: 'function',
  activity: 'function',
  workflow: 'function',
  handler: 'function',
  parameter: 'parameter',
  variable: 'variable',
  state: 'variable',
  field: 'variable',
  constant: 'variable',
  import: 'variable',
  constructor: 'type',
  type: 'type',
  generic: 'type',
  table: 'type',
  actor: 'type',
  agent: 'type',
  component: 'type',
  environment: 'type',
  machine: 'type',
  url: 'type'
}

interface Coloured extends Span {
  readonly type: TokenType
  readonly modifiers: number
}

export function semanticTokens(analysis: Analysis): SemanticTokens {
  const builder = new SemanticTokensBuilder()
  const { document, text } = analysis
  for (const { start, end, type, modifiers } of coloured(analysis)) {
    // A token that spans several lines is reported line by line.
    for (let from = start; from < end; ) {
      const position = document.positionAt(from)
      const next = Math.min(end, document.offsetAt({ line: position.line + 1, character: 0 }))
      const length = text.slice(from, next).replace(/[\r\n]+$/, '').length
      if (length > 0) builder.push(position.line, position.character, length, TYPES.indexOf(type), modifiers)
      if (next <= from) break
      from = next
    }
  }
  return builder.build()
}

/** Returns the coloured tokens, in source order. */
function coloured(analysis: Analysis): Coloured[] {
  const { tokens } = analysis.parsed
  const comments = tokens.comments.map(({ start, end }): Coloured => ({ start, end, type: 'comment', modifiers: 0 }))
  const found: Coloured[] = []
  for (let index = 0; index < tokens.length; index++) {
    const [start, end] = [tokens.start(index), tokens.end(index)]
    const meaning = namedAt(analysis, tokens.kind(index), start) ?? plain(tokens.kind(index))
    if (meaning !== null) found.push({ start, end, ...meaning })
  }
  return [...comments, ...found].sort((a, b) => a.start - b.start)
}

type Meaning = Pick<Coloured, 'type' | 'modifiers'>

function namedAt({ symbols }: Analysis, kind: number, start: number): Meaning | null {
  // A contextual keyword may be a name.
  if (kind < Kind.Identifier || kind > LAST_KEYWORD) return null
  const occurrence = symbols.at(start)
  if (occurrence === undefined || occurrence.start !== start) return null
  const type = OF_SYMBOLS[occurrence.symbol.kind]
  const isFixed = occurrence.symbol.kind === 'constant' || occurrence.symbol.kind === 'parameter'
  return { type, modifiers: (occurrence.isDefinition ? DEFINITION : 0) | (isFixed ? READONLY : 0) }
}

function plain(kind: number): Meaning | null {
  const type: TokenType | null =
    kind === Kind.String
      ? 'string'
      : kind === Kind.Int || kind === Kind.Float || kind === Kind.Decimal
        ? 'number'
        : kind === Kind.Decorator
          ? 'decorator'
          : kind === Kind.TypeIdentifier
            ? 'type'
            : kind > Kind.Underscore && kind <= LAST_KEYWORD
              ? 'keyword'
              : kind === Kind.Identifier
                ? 'variable'
                : null
  return type === null ? null : { type, modifiers: 0 }
}
