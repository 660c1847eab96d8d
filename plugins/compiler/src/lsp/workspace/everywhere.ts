import type { LanguageSymbol, Occurrence } from '../../symbols/symbol.ts'
import type { Call, Element, Expression, Member } from '../../syntax/ast-expressions.ts'
import type { Name, Span } from '../../syntax/node.ts'
import { walk } from '../../syntax/walk.ts'
import type { Analysis } from '../analysis.ts'
import { isExported, type Link, linksOf } from './links.ts'
import type { Workspace } from './workspace.ts'

/** A resolved symbol, with the file that declares it. */
export interface ResolvedSymbol {
  readonly analysis: Analysis
  /** null for a whole file. */
  readonly symbol: LanguageSymbol | null
  /** The resolved word. */
  readonly at: Span
}

/** Occurrences of one symbol in one file. */
export interface SymbolOccurrences {
  readonly analysis: Analysis
  readonly occurrences: readonly Occurrence[]
  /** Words that are resolved through another file: in imports, after a file name, as argument names. */
  readonly words: readonly Span[]
  /** Occurrences of the alias of the symbol's import. */
  readonly aliases: readonly Occurrence[]
}

/** Resolves the word at an offset through all imports; null if it is unresolved. */
export function resolveAt(analysis: Analysis, offset: number, workspace: Workspace): ResolvedSymbol | null {
  const occurrence = analysis.symbols.at(offset)
  if (occurrence !== undefined && occurrence.symbol.kind !== 'import') {
    return { analysis, symbol: occurrence.symbol, at: occurrence }
  }
  const links = linksOf(analysis, workspace)
  if (occurrence !== undefined) {
    const link = links.find(({ local }) => local === occurrence.symbol.definition)
    if (link === undefined) return { analysis, symbol: occurrence.symbol, at: occurrence }
    return { ...origin(link, workspace), at: occurrence }
  }
  const named = links.find(({ token }) => token !== null && isAt(token, offset))
  if (named?.token != null) return { ...origin(named, workspace), at: named.token }
  for (const link of links) {
    const found = referencedWords(link, analysis).find(({ word }) => isAt(word, offset))
    if (found !== undefined) return { ...origin({ ...link, symbol: found.symbol }, workspace), at: found.word }
  }
  return null
}

/** Follows a link to its final target, since an imported file may itself import the name. */
function origin(link: Link, workspace: Workspace): Pick<ResolvedSymbol, 'analysis' | 'symbol'> {
  const seen = new Set<LanguageSymbol>()
  let { target: analysis, symbol } = link
  while (symbol?.kind === 'import' && !seen.has(symbol)) {
    seen.add(symbol)
    const { definition }: LanguageSymbol = symbol
    const next = linksOf(analysis, workspace).find(({ local }) => local === definition)
    if (next === undefined) break
    analysis = next.target
    symbol = next.symbol
  }
  return { analysis, symbol }
}

/** Returns all occurrences of a symbol, file by file; the declaring file is first. */
export function occurrencesEverywhere(
  analysis: Analysis,
  symbol: LanguageSymbol,
  workspace: Workspace
): SymbolOccurrences[] {
  const own = ownerOf(symbol, analysis)
  if (!isExported(symbol) && own === null) return [inFile(analysis, symbol)]
  const files = workspace.around(analysis).map(file => ({ file, links: linksOf(file, workspace) }))
  const found = new Map<Analysis, { occurrences: Occurrence[]; words: Span[]; aliases: Occurrence[] }>()
  const entryFor = (file: Analysis) => {
    const known = found.get(file) ?? { occurrences: [], words: [], aliases: [] }
    found.set(file, known)
    return known
  }
  entryFor(analysis).occurrences.push(...analysis.symbols.of(symbol))
  const open: LanguageSymbol[] = [own ?? symbol]
  for (const shared of open) {
    for (const { file, links } of files) {
      for (const link of links) {
        const isWhole = link.symbol === null && link.target.symbols.of(shared).length > 0
        if (link.symbol !== shared && !isWhole) continue
        const alias = [...file.symbols.symbols()].find(({ definition }) => definition === link.local)
        const words = referencedWords(link, file)
        const target = own === null ? shared : symbol
        entryFor(file).words.push(...words.flatMap(each => (each.symbol === target ? each.word : [])))
        if (own !== null || isWhole || alias === undefined) continue
        if (link.local !== link.token) {
          entryFor(file).aliases.push(...file.symbols.of(alias))
          if (link.token !== null) entryFor(file).words.push(link.token)
        } else if (!open.includes(alias)) {
          entryFor(file).occurrences.push(...file.symbols.of(alias))
          open.push(alias)
        }
      }
    }
  }
  return [...found].map(([file, named]) => ({ analysis: file, ...named }))
}

function inFile(analysis: Analysis, symbol: LanguageSymbol): SymbolOccurrences {
  return { analysis, occurrences: analysis.symbols.of(symbol), words: [], aliases: [] }
}

/** Returns the exported function or component that has this parameter; null for other symbols. */
function ownerOf(symbol: LanguageSymbol, { symbols }: Analysis): LanguageSymbol | null {
  const { declaration } = symbol
  if (!('name' in declaration) || declaration.name === null) return null
  const { name } = declaration
  const owner = [...symbols.symbols()].find(each => each.definition === name && isExported(each))
  return owner !== undefined && isParameterOf(symbol, owner) ? owner : null
}

interface ReferencedWord {
  readonly word: Span
  /** The link's target, as a symbol. */
  readonly symbol: LanguageSymbol
}

/**
 * Returns the words of a file that refer to a link's target: members of a file, and argument or attribute names of a
 * call.
 */
function referencedWords(link: Link, file: Analysis): ReferencedWord[] {
  const isLocal = ({ start }: Span): boolean => file.symbols.at(start)?.symbol.definition === link.local
  const all = [...link.target.symbols.symbols()]
  const found: ReferencedWord[] = []
  const add = (word: Name, symbol: LanguageSymbol | undefined): void => {
    if (symbol !== undefined) found.push({ word, symbol })
  }
  /** Returns the symbol of a callee or an element. */
  const called = (callee: Expression): LanguageSymbol | undefined => {
    if (callee.kind === 'Identifier') return isLocal(callee) ? (link.symbol ?? undefined) : undefined
    if (callee.kind !== 'Member' || link.symbol !== null) return undefined
    const { object, property } = callee
    if (object.kind !== 'Identifier' || !isLocal(object)) return undefined
    return all.find(each => each.name === property.text && isExported(each))
  }
  const parameters = (owner: LanguageSymbol | undefined, names: readonly Name[]): void => {
    if (owner === undefined || names.length === 0) return
    for (const name of names) {
      add(
        name,
        all.find(each => each.name === name.text && isParameterOf(each, owner))
      )
    }
  }
  walk(file.parsed.module, node => {
    if (node.kind === 'Member') {
      const member = node as Member
      add(member.property, called(member))
    } else if (node.kind === 'Call') {
      const { callee, args } = node as Call
      parameters(
        called(callee),
        args.flatMap(({ name }) => name ?? [])
      )
    } else if (node.kind === 'Element') {
      const { tag, attributes } = node as Element
      if (isLocal(tag)) {
        parameters(
          link.symbol ?? undefined,
          attributes.map(({ name }) => name)
        )
      }
    }
    return true
  })
  return found
}

function isParameterOf({ kind, definition }: LanguageSymbol, { declaration }: LanguageSymbol): boolean {
  if (kind !== 'parameter' || !('params' in declaration)) return false
  return declaration.params?.some(({ name }) => name === definition) ?? false
}

function isAt({ start, end }: Span, offset: number): boolean {
  return start <= offset && offset <= end
}
