import type { Position, Range, TextEdit } from 'vscode-languageserver'
import { handlerArguments } from '../app-hooks/hook-entries.ts'
import { hookUses } from '../app-hooks/hook-uses.ts'
import type { LanguageSymbol, Occurrence } from '../symbols/symbol.ts'
import type { SymbolIndex } from '../symbols/symbol-index.ts'
import type { PathImport, RustImport } from '../syntax/ast.ts'
import type { Member, StringLiteral } from '../syntax/ast-expressions.ts'
import type { Span } from '../syntax/node.ts'
import { onSignUpOf } from '../syntax/on-sign-up.ts'
import { KEYWORDS } from '../syntax/token.ts'
import { walk } from '../syntax/walk.ts'
import type { Analysis } from './analysis.ts'
import { occurrencesEverywhere, resolveAt, type SymbolOccurrences } from './workspace/everywhere.ts'
import { exported, linksOf } from './workspace/links.ts'
import type { Workspace } from './workspace/workspace.ts'

/** Thrown if a symbol cannot be renamed. The message is shown to users. */
export class RenameRefused extends Error {
  override readonly name = 'RenameRefused'
}

/** Returns the word that would be renamed. Throws {@link RenameRefused}. */
export function prepareRename(
  analysis: Analysis,
  position: Position,
  workspace: Workspace
): { range: Range; placeholder: string } {
  const { at } = renamed(analysis, position, workspace)
  return { range: analysis.range(at), placeholder: analysis.text.slice(at.start, at.end) }
}

/** Returns the edits, by file URI, that rename a symbol at every occurrence. Throws {@link RenameRefused}. */
export function rename(
  analysis: Analysis,
  position: Position,
  name: string,
  workspace: Workspace
): Record<string, TextEdit[]> {
  const { analysis: home, symbol } = renamed(analysis, position, workspace)
  if (name === symbol.name) return {}
  requireName(name, symbol)
  if (symbol.kind === 'parameter') requireNoHookParameter(symbol, name, home)
  const files = occurrencesEverywhere(home, symbol, workspace)
  if (symbol.kind === 'handler') requireKnownCalls(symbol, home, workspace)
  if (files.length > 1 && exported(home, symbol.name).length > 1) {
    throw new RenameRefused(`two symbols are called \`${symbol.name}\`, and other files import both`)
  }
  return Object.fromEntries(
    files
      .map(file => [file.analysis.document.uri, changesOf(file, symbol, name)] as const)
      .filter(([, { length }]) => length > 0)
  )
}

/** Returns the edits of one file. Throws {@link RenameRefused} if another word of the file would change its meaning. */
function changesOf(
  { analysis, occurrences, words }: SymbolOccurrences,
  symbol: LanguageSymbol,
  name: string
): TextEdit[] {
  const changes = [
    ...occurrences.map(each => ({ at: each as Span, text: written(name, each) })),
    ...words.map(at => ({ at, text: name }))
  ].toSorted((a, b) => a.at.start - b.at.start)
  let text = ''
  let from = 0
  for (const { at, text: put } of changes) {
    text += analysis.text.slice(from, at.start) + put
    from = at.end
  }
  const after = analysis.with(text + analysis.text.slice(from))
  if (!meansTheSame(analysis.symbols, after.symbols) || errorsOf(after) > errorsOf(analysis)) {
    throw new RenameRefused(`\`${name}\` already has another meaning where \`${symbol.name}\` is used`)
  }
  return changes.map(({ at, text: newText }) => ({ range: analysis.range(at), newText }))
}

function written(name: string, { form, symbol }: Occurrence): string {
  // The key of the record is not renamed.
  if (form === 'shorthand') return `${symbol.name}: ${name}`
  return form === 'string' ? `"${name}"` : name
}

function renamed(
  analysis: Analysis,
  position: Position,
  workspace: Workspace
): { readonly analysis: Analysis; readonly symbol: LanguageSymbol; readonly at: Span } {
  const offset = analysis.document.offsetAt(position)
  const occurrence = analysis.symbols.at(offset)
  // An alias is declared by the importing file.
  if (occurrence?.symbol.kind === 'import' && hasAlias(occurrence.symbol)) {
    return { analysis, symbol: occurrence.symbol, at: occurrence }
  }
  const resolved = resolveAt(analysis, offset, workspace)
  if (resolved === null) throw new RenameRefused('no name at the cursor is declared in a file')
  const { symbol } = resolved
  if (symbol === null) throw new RenameRefused('this is the name of a file; rename the file instead')
  if (symbol.kind === 'field') {
    throw new RenameRefused(`\`${symbol.name}\` is the name of stored or sent data; rename it in the data first`)
  }
  if (symbol.kind === 'import' && !hasAlias(symbol)) {
    throw new RenameRefused(`\`${symbol.name}\` is declared elsewhere; rename it here with \`as\``)
  }
  if (symbol.kind === 'function' && symbol.declaration === onSignUpOf(resolved.analysis.parsed.module)) {
    throw new RenameRefused(`sign-ups call \`${symbol.name}\` by that name`)
  }
  return { analysis: resolved.analysis, symbol, at: resolved.at }
}

/** True if the file declares an alias for the import. */
function hasAlias({ node, definition }: LanguageSymbol): boolean {
  if (node.kind === 'RustImport') return (node as RustImport).alias === definition
  if (node.kind !== 'PathImport') return false
  const { alias, members } = node as PathImport
  return alias === definition || (members ?? []).some(each => each.alias === definition)
}

/** Throws if an app hook passes the parameter by its name. */
function requireNoHookParameter(
  { name: previous, declaration }: LanguageSymbol,
  name: string,
  { parsed }: Analysis
): void {
  if (declaration.kind !== 'Function') return
  const { name: declaredName, params } = declaration
  const others = params.map(each =>
    each.name.text === previous ? { ...each, name: { ...each.name, text: name } } : each
  )
  for (const { hook, name: used, offers } of hookUses(parsed.module)) {
    if (used !== declaredName.text) continue
    const [before, after] = [params, others].map(each => handlerArguments(each, offers).values.join())
    if (before !== after) throw new RenameRefused(`\`@${hook}\` passes \`${previous}\` to \`${used}\` by that name`)
  }
}

/** Throws if a call on a handle of an unknown actor may refer to the handler, in this file or its importers. */
function requireKnownCalls({ name }: LanguageSymbol, home: Analysis, workspace: Workspace): void {
  requireKnown(name, home)
  for (const file of workspace.around(home)) {
    if (file === home || !linksOf(file, workspace).some(({ target }) => target === home)) continue
    requireKnown(name, file)
  }
}

function requireKnown(name: string, { parsed, symbols }: Analysis): void {
  const isKnown = ({ start }: Span): boolean => symbols.at(start)?.start === start
  walk(parsed.module, node => {
    if (node.kind === 'Member') {
      const { property } = node as Member
      if (property.text === name && !isKnown(property)) {
        throw new RenameRefused(`the actor of some calls of \`.${name}\` is unknown`)
      }
    } else if (node.kind === 'String' && (node as StringLiteral).value === name && !isKnown(node)) {
      throw new RenameRefused(`the string "${name}" may be the name of a message`)
    }
    return true
  })
}

function requireName(name: string, { name: previous, kind }: LanguageSymbol): void {
  const isCapital = /^[A-Z]/.test(previous)
  const isValid = isCapital ? /^[A-Z][A-Za-z0-9_]*$/ : /^[a-z_][A-Za-z0-9_]*$/
  if (!isValid.test(name) || name === '_') {
    const first = isCapital ? 'a capital letter' : 'a lower-case letter'
    throw new RenameRefused(
      `\`${name}\` cannot be the name of a ${kind}: begin with ${first}, and use letters, digits and _`
    )
  }
  if (KEYWORDS.includes(name)) throw new RenameRefused(`\`${name}\` is a keyword`)
}

/**
 * True if every word still resolves to the same symbol. Field names are excluded, since record literals declare them
 * again.
 */
function meansTheSame(before: SymbolIndex, after: SymbolIndex): boolean {
  const [previous, current] = [before, after].map(({ occurrences }) =>
    occurrences.filter(each => each.symbol.kind !== 'field')
  )
  if (previous === undefined || current === undefined || previous.length !== current.length) return false
  if (before.unresolved.length !== after.unresolved.length) return false
  const same = new Map<LanguageSymbol, LanguageSymbol>()
  const reverse = new Map<LanguageSymbol, LanguageSymbol>()
  return previous.every(({ symbol }, index) => {
    const other = current[index]?.symbol
    if (other === undefined) return false
    if (!same.has(symbol)) same.set(symbol, other)
    if (!reverse.has(other)) reverse.set(other, symbol)
    return same.get(symbol) === other && reverse.get(other) === symbol
  })
}

function errorsOf({ diagnostics }: Analysis): number {
  return diagnostics.filter(({ severity }) => severity === 'error').length
}
