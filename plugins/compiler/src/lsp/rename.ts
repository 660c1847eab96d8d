import type { Position, Range, TextEdit } from 'vscode-languageserver'
import type { LanguageSymbol, Occurrence } from '../symbols/symbol.ts'
import type { SymbolIndex } from '../symbols/symbol-index.ts'
import type { Member, StringLiteral } from '../syntax/ast-expressions.ts'
import type { Span } from '../syntax/node.ts'
import { KEYWORDS } from '../syntax/token.ts'
import { walk } from '../syntax/walk.ts'
import type { Analysis } from './analysis.ts'

/** Why something cannot be renamed, for people. */
export class RenameRefused extends Error {
  override readonly name = 'RenameRefused'
}

/** The word that would be renamed. Throws {@link RenameRefused}. */
export function prepareRename(analysis: Analysis, position: Position): { range: Range; placeholder: string } {
  const occurrence = renamed(analysis, position)
  return { range: analysis.range(occurrence), placeholder: occurrence.symbol.name }
}

/** Changes that give a symbol another name and change nothing else. Throws {@link RenameRefused}. */
export function rename(analysis: Analysis, position: Position, name: string): TextEdit[] {
  const { symbol } = renamed(analysis, position)
  if (name === symbol.name) return []
  requireName(name, symbol)
  const changes = analysis.symbols.of(symbol).map(occurrence => ({
    occurrence,
    text: written(name, occurrence)
  }))
  let text = ''
  let from = 0
  for (const { occurrence, text: put } of changes) {
    text += analysis.text.slice(from, occurrence.start) + put
    from = occurrence.end
  }
  const after = analysis.with(text + analysis.text.slice(from))
  if (!meansTheSame(analysis.symbols, after.symbols) || errorsOf(after) > errorsOf(analysis)) {
    throw new RenameRefused(`\`${name}\` already means something where \`${symbol.name}\` is used`)
  }
  return changes.map(({ occurrence, text: newText }) => ({ range: analysis.range(occurrence), newText }))
}

function written(name: string, { form, symbol }: Occurrence): string {
  // The key of a record keeps its name.
  if (form === 'shorthand') return `${symbol.name}: ${name}`
  return form === 'string' ? `"${name}"` : name
}

function renamed(analysis: Analysis, position: Position): Occurrence {
  const occurrence = analysis.symbols.at(analysis.document.offsetAt(position))
  if (occurrence === undefined) throw new RenameRefused('there is no name here that this file declares')
  const { symbol } = occurrence
  if (symbol.kind === 'field') {
    throw new RenameRefused(`\`${symbol.name}\` is the name of stored or sent data; rename it in the data first`)
  }
  if (symbol.kind === 'import' && !hasAlias(symbol)) {
    throw new RenameRefused(`\`${symbol.name}\` is named elsewhere; import it \`as\` something else`)
  }
  if (symbol.kind === 'handler') requireKnownCalls(symbol, analysis)
  return occurrence
}

function hasAlias({ node, definition }: LanguageSymbol): boolean {
  return 'alias' in node && node.alias === definition
}

/** A call on a handle whose actor is not known may mean the handler. */
function requireKnownCalls({ name }: LanguageSymbol, { parsed, symbols }: Analysis): void {
  const isKnown = ({ start }: Span): boolean => symbols.at(start)?.start === start
  walk(parsed.module, node => {
    if (node.kind === 'Member') {
      const { property } = node as Member
      if (property.text === name && !isKnown(property)) {
        throw new RenameRefused(`it is not known on which actor \`.${name}\` is called everywhere`)
      }
    } else if (node.kind === 'String' && (node as StringLiteral).value === name && !isKnown(node)) {
      throw new RenameRefused(`a text is "${name}", and may be the name of a message`)
    }
    return true
  })
}

function requireName(name: string, { name: old, kind }: LanguageSymbol): void {
  const isCapital = /^[A-Z]/.test(old)
  const isRight = isCapital ? /^[A-Z][A-Za-z0-9_]*$/ : /^[a-z_][A-Za-z0-9_]*$/
  if (!isRight.test(name) || name === '_') {
    const first = isCapital ? 'a capital letter' : 'a small letter'
    throw new RenameRefused(
      `\`${name}\` is no name of a ${kind}: it begins with ${first}, and has letters, digits and _`
    )
  }
  if (KEYWORDS.includes(name)) throw new RenameRefused(`\`${name}\` is a keyword`)
}

/** Whether every word stands for what it stood for; names of fields apart, which records give anew. */
function meansTheSame(before: SymbolIndex, after: SymbolIndex): boolean {
  const [old, now] = [before, after].map(({ occurrences }) => occurrences.filter(each => each.symbol.kind !== 'field'))
  if (old === undefined || now === undefined || old.length !== now.length) return false
  if (before.unresolved.length !== after.unresolved.length) return false
  const same = new Map<LanguageSymbol, LanguageSymbol>()
  const taken = new Map<LanguageSymbol, LanguageSymbol>()
  return old.every(({ symbol }, index) => {
    const other = now[index]?.symbol
    if (other === undefined) return false
    if (!same.has(symbol)) same.set(symbol, other)
    if (!taken.has(other)) taken.set(other, symbol)
    return same.get(symbol) === other && taken.get(other) === symbol
  })
}

function errorsOf({ diagnostics }: Analysis): number {
  return diagnostics.filter(({ severity }) => severity === 'error').length
}
