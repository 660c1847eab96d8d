import { type DocumentHighlight, DocumentHighlightKind, type Location, type Position } from 'vscode-languageserver'
import type { Occurrence } from '../symbols/symbol.ts'
import type { Analysis } from './analysis.ts'

/** Where the word at a place gets its meaning; null where nothing in the file gives it one. */
export function definition(analysis: Analysis, position: Position): Location | null {
  const found = analysis.symbols.at(analysis.document.offsetAt(position))
  return found === undefined ? null : locationOf(found.symbol.definition, analysis)
}

/** All places that name what the word at a place names, in the order of the source. */
export function references(analysis: Analysis, position: Position, withDefinition: boolean): Location[] {
  return meant(analysis, position)
    .filter(({ isDefinition }) => withDefinition || !isDefinition)
    .map(each => locationOf(each, analysis))
}

export function highlights(analysis: Analysis, position: Position): DocumentHighlight[] {
  return meant(analysis, position).map(each => ({
    range: analysis.range(each),
    kind: each.isDefinition ? DocumentHighlightKind.Write : DocumentHighlightKind.Read
  }))
}

function meant({ symbols, document }: Analysis, position: Position): readonly Occurrence[] {
  const found = symbols.at(document.offsetAt(position))
  return found === undefined ? [] : symbols.of(found.symbol)
}

function locationOf(span: { readonly start: number; readonly end: number }, analysis: Analysis): Location {
  return { uri: analysis.document.uri, range: analysis.range(span) }
}
