import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { Module } from './ast.ts'
import { lex } from './lexer.ts'
import { parseModule } from './parser/module.ts'
import { Parser, type ParserOptions } from './parser/parser.ts'
import type { TokenList } from './token-list.ts'
import { type AnyNode, walk } from './walk.ts'

export interface ParseResult {
  /** The parsed part of the source, if it has errors. */
  readonly module: Module
  /** In source order. */
  readonly diagnostics: readonly Diagnostic[]
  /** Tokens and comments, for the formatter and the language server. */
  readonly tokens: TokenList
}

/** Parses a file. Never throws. Reports every independent error. */
export function parse(source: string, options: Partial<ParserOptions> = {}): ParseResult {
  const { tokens, diagnostics } = lex(source)
  const { script = false, allowComponentFunctions = false } = options
  const parser = new Parser(tokens, { script, allowComponentFunctions })
  const module = parseModule(parser)
  if (parser.diagnostics.length > 0) walk(module, straighten)
  return { module, diagnostics: sortDiagnostics([...diagnostics, ...parser.diagnostics]), tokens }
}

/** Gives an empty node zero width. It starts before the next token, but ends after the previous one. */
function straighten(node: AnyNode): true {
  if (node.end < node.start) (node as { start: number }).start = node.end
  return true
}
