import type { LanguageSymbol, SymbolKind } from '../../symbols/symbol.ts'
import type { Module } from '../../syntax/ast.ts'
import type { Name } from '../../syntax/node.ts'
import type { Analysis } from '../analysis.ts'
import type { Workspace } from './workspace.ts'

/** Symbols that other files can import. */
const EXPORTED: ReadonlySet<SymbolKind> = new Set<SymbolKind>([
  'function',
  'activity',
  'workflow',
  'constructor',
  'type',
  'table',
  'actor',
  'agent',
  'component',
  'constant',
  'import',
  'environment',
  'machine',
  'url'
])

/** An imported name. */
export interface Link {
  /** The imported name as written in the import; null for a whole file. */
  readonly token: Name | null
  /** The name in the importing file: the alias, or the imported name. */
  readonly local: Name
  readonly target: Analysis
  /** The name in the imported file; null for a whole file. */
  readonly symbol: LanguageSymbol | null
}

/** Returns the imports of a file that resolve to existing files. */
export function linksOf(analysis: Analysis, workspace: Workspace): Link[] {
  // Most files have no imports, so other files need not be read for them.
  if (!analysis.text.includes('import')) return []
  return importsIn(analysis.parsed.module).flatMap(ways => {
    for (const { words, token, local } of ways) {
      const target = workspace.imported(analysis, words)
      if (target === null || target === analysis) continue
      if (token === null) return { token, local, target, symbol: null }
      const [symbol] = exported(target, token.text)
      if (symbol !== undefined) return { token, local, target, symbol }
    }
    return []
  })
}

/** Returns the exported symbols of a file with one name. A type and its constructor may share a name. */
export function exported({ symbols }: Analysis, name: string): LanguageSymbol[] {
  return [...symbols.symbols()].filter(symbol => symbol.name === name && EXPORTED.has(symbol.kind))
}

export function isExported({ kind }: LanguageSymbol): boolean {
  return EXPORTED.has(kind)
}

interface Import {
  /** Words of the file's path. */
  readonly words: readonly string[]
  readonly token: Name | null
  readonly local: Name
}

/**
 * Returns the possible targets of each import. The last word of `a.b` is a symbol of the file `a`; otherwise `a/b` is a
 * file.
 */
function importsIn({ items }: Module): Import[][] {
  return items.flatMap(item => {
    if (item.kind !== 'Import') return []
    return item.items.flatMap((each): Import[][] => {
      if (each.kind !== 'PathImport' || each.path[0]?.text === 'std') return []
      const words = each.path.map(({ text }) => text)
      if (each.members !== null) {
        return each.members.map(({ name, alias }) => [{ words, token: name, local: alias ?? name }])
      }
      const last = each.path.at(-1)
      if (last === undefined) return []
      const local = each.alias ?? last
      return [
        [
          { words: words.slice(0, -1), token: last, local },
          { words, token: null, local }
        ]
      ]
    })
  })
}
