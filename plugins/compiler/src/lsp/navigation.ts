import { type DocumentHighlight, DocumentHighlightKind, type Location, type Position } from 'vscode-languageserver'
import type { Occurrence } from '../symbols/symbol.ts'
import type { Analysis } from './analysis.ts'
import { occurrencesEverywhere, resolveAt } from './workspace/everywhere.ts'
import type { Workspace } from './workspace/workspace.ts'

/** Returns the definition of the word at a position, in any file; null if it is unresolved. */
export function definition(analysis: Analysis, position: Position, workspace: Workspace): Location | null {
  const resolved = resolveAt(analysis, analysis.document.offsetAt(position), workspace)
  if (resolved === null) return null
  const { symbol } = resolved
  return locationOf(symbol === null ? { start: 0, end: 0 } : symbol.definition, resolved.analysis)
}

/** Returns all occurrences of the symbol at a position, by file and in source order. */
export function references(
  analysis: Analysis,
  position: Position,
  withDefinition: boolean,
  workspace: Workspace
): Location[] {
  const resolved = resolveAt(analysis, analysis.document.offsetAt(position), workspace)
  if (resolved?.symbol == null) return []
  const { symbol } = resolved
  return occurrencesEverywhere(resolved.analysis, symbol, workspace).flatMap(
    ({ analysis: file, occurrences, words, aliases }) =>
      [
        ...occurrences.filter(each => withDefinition || !each.isDefinition || each.symbol !== symbol),
        ...words,
        ...aliases
      ]
        .toSorted((a, b) => a.start - b.start)
        .map(each => locationOf(each, file))
  )
}

export function highlights(analysis: Analysis, position: Position): DocumentHighlight[] {
  return resolved(analysis, position).map(each => ({
    range: analysis.range(each),
    kind: each.isDefinition ? DocumentHighlightKind.Write : DocumentHighlightKind.Read
  }))
}

function resolved({ symbols, document }: Analysis, position: Position): readonly Occurrence[] {
  const found = symbols.at(document.offsetAt(position))
  return found === undefined ? [] : symbols.of(found.symbol)
}

function locationOf(span: { readonly start: number; readonly end: number }, analysis: Analysis): Location {
  return { uri: analysis.document.uri, range: analysis.range(span) }
}
