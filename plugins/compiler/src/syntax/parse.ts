import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { Module } from './ast.ts'
import { lex } from './lexer.ts'
import { ModuleParser, type ParserOptions } from './parser/module-parser.ts'
import type { TokenList } from './token-list.ts'
import { type AnyNode, walk } from './walk.ts'

export interface ParseResult {
  /** For a text with errors, the part that could be parsed. */
  readonly module: Module
  /** In source order. */
  readonly diagnostics: readonly Diagnostic[]
  /** Tokens and comments, for tools. */
  readonly tokens: TokenList
}

/** Parses one file. Never throws; reports every error that is not caused by another one. */
export function parse(source: string, options: Partial<ParserOptions> = {}): ParseResult {
  const { tokens, diagnostics } = lex(source)
  const { script = false, allowComponentFunctions = false } = options
  const parser = new ModuleParser(tokens, { script, allowComponentFunctions })
  const module = parser.module()
  if (parser.diagnostics.length > 0) walk(module, straighten)
  return { module, diagnostics: sortDiagnostics([...diagnostics, ...parser.diagnostics]), tokens }
}

/** An empty node would start before the next token and end after the last one. */
function straighten(node: AnyNode): true {
  if (node.end < node.start) (node as { start: number }).start = node.end
  return true
}
