import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { Module } from './ast.ts'
import { lex } from './lexer.ts'
import { ModuleParser, type ParserOptions } from './parser/module-parser.ts'
import type { TokenList } from './token-list.ts'
import { type AnyNode, walk } from './walk.ts'

export interface ParseResult {
  /** Of a text with errors, what could be read of it. */
  readonly module: Module
  /** In the order of the source. */
  readonly diagnostics: readonly Diagnostic[]
  /** Tokens and comments, for tools. */
  readonly tokens: TokenList
}

/** Reads one file. Never throws; reports every error that does not follow from another one. */
export function parse(source: string, options: Partial<ParserOptions> = {}): ParseResult {
  const { tokens, diagnostics } = lex(source)
  const { script = false, allowComponentFunctions = false } = options
  const parser = new ModuleParser(tokens, { script, allowComponentFunctions })
  const module = parser.module()
  if (parser.diagnostics.length > 0) walk(module, straighten)
  return { module, diagnostics: sortDiagnostics([...diagnostics, ...parser.diagnostics]), tokens }
}

/** A node of which nothing could be read began before the next token, and ended behind the last one. */
function straighten(node: AnyNode): true {
  if (node.end < node.start) (node as { start: number }).start = node.end
  return true
}
