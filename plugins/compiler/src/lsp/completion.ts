import type { CompletionItem, Position } from 'vscode-languageserver'
import { CompletionItemKind } from 'vscode-languageserver'
import type { Meaning } from '../symbols/body-rule.ts'
import { walkBodies } from '../symbols/walk-bodies.ts'
import type { Declaration, Module, Table } from '../syntax/ast.ts'
import { DECORATORS } from '../syntax/decorators.ts'
import { KEYWORDS } from '../syntax/token.ts'
import { NATIVES } from '../types/natives/natives.ts'
import { isNativeFunction } from '../types/natives/natives-contract.ts'
import type { Analysis } from './analysis.ts'
import { CompletionItems, callSnippet } from './completion-items.ts'
import { cursorContext } from './cursor-context.ts'
import { argumentCompletions, callerCompletions, conditionCompletions } from './decorator-arguments.ts'
import { memberCompletions, tableOperations } from './member-completion.ts'
import { declarationOf, membersOf, namespacesIn, snippetOf } from './natives.ts'
import { callSignature, sourceOf } from './signatures.ts'
import { DECORATOR_WORDS } from './vocabulary/decorators.ts'
import { KEYWORD_WORDS } from './vocabulary/keywords.ts'
import { TYPE_WORDS } from './vocabulary/types.ts'
import { VALUE_WORDS } from './vocabulary/values.ts'

/** Inserted at the cursor if no word is there, so that the parser finds a name. */
const PLACEHOLDER = 'completed_here'

const OPERATORS = 'eq neq lt lte gt gte in contains is_null'.split(' ')

export function completions(analysis: Analysis, position: Position): CompletionItem[] {
  const { document, text, parsed } = analysis
  const offset = document.offsetAt(position)
  const context = cursorContext(parsed.tokens, offset)
  if (context.kind === 'nothing') return []
  const { from } = context
  const items = new CompletionItems(analysis.range({ start: from, end: offset }))
  switch (context.kind) {
    case 'decorator':
      items.words(DECORATOR_WORDS, CompletionItemKind.Keyword, '1')
      for (const name of DECORATORS) items.add(name, CompletionItemKind.Keyword)
      break
    case 'argument':
      argumentCompletions(items, context.decorator, context.argument)
      break
    case 'rule':
      if (context.path.length > 0) callerCompletions(items, context.path)
      else {
        if (context.table !== null) columns(items, context.table, analysis)
        conditionCompletions(items)
      }
      break
    case 'type':
      types(items, parsed.module)
      break
    case 'column':
      columns(items, context.table, analysis)
      if (context.logic) for (const word of ['and', 'or', 'not']) items.add(word, CompletionItemKind.Keyword)
      break
    case 'operator':
      for (const operator of OPERATORS) items.add(operator, CompletionItemKind.Operator)
      break
    case 'member':
      members(items, context.path, from, offset, analysis)
      break
    case 'value':
      values(items, from, offset, analysis)
      if (context.isOutside) items.add('routes', CompletionItemKind.Keyword)
      items.words(KEYWORD_WORDS, CompletionItemKind.Keyword, '6')
      for (const word of KEYWORDS) items.add(word, CompletionItemKind.Keyword, { rank: '7' })
      types(items, parsed.module)
  }
  // The incomplete name itself is not a completion.
  return items.found.filter(
    ({ label }) => label !== PLACEHOLDER && (label !== text.slice(from, offset) || label.length > 1)
  )
}

function types(items: CompletionItems, { items: declared }: Module): void {
  for (const item of declared) {
    if (item.kind === 'Type' || item.kind === 'Table' || item.kind === 'Actor' || item.kind === 'Agent') {
      items.add(item.name.text, CompletionItemKind.Class, { rank: '4' })
    }
  }
  items.words(TYPE_WORDS, CompletionItemKind.Class, '8')
}

function columns(items: CompletionItems, table: string, { parsed, text }: Analysis): void {
  const declared = parsed.module.items.find((item): item is Table => item.kind === 'Table' && item.name.text === table)
  for (const field of declared?.fields ?? []) {
    items.add(field.name.text, CompletionItemKind.Field, { detail: sourceOf(field, text), rank: '1' })
  }
  if (declared !== undefined) items.add('_id', CompletionItemKind.Field, { detail: '_id: int', rank: '2' })
}

function members(items: CompletionItems, path: readonly string[], from: number, offset: number, analysis: Analysis) {
  const { text } = analysis
  // Source after the word is preserved.
  const whole = from < offset ? analysis : analysis.with(`${text.slice(0, offset)}${PLACEHOLDER} ${text.slice(offset)}`)
  if (!isDeclared(path, from, whole) && namespace(items, path)) return
  if (path[0] === 'db' && path.length === 1) {
    for (const item of analysis.parsed.module.items) {
      if (item.kind === 'Table') items.add(item.name.text, CompletionItemKind.Struct, { rank: '1' })
    }
    return
  }
  if (path[0] === 'db' && path.length === 2) {
    tableOperations(items)
    return
  }
  memberCompletions(items, from, whole)
}

/** True if the first name of a path before the member at `from` is one of the program: a variable, a declaration. */
function isDeclared(path: readonly string[], from: number, { text, symbols }: Analysis): boolean {
  const start = path.length === 0 ? -1 : text.lastIndexOf(path[0] as string, from - path.join('.').length - 1)
  return symbols.at(start) !== undefined
}

/** Adds the namespaces and functions of a namespace; false if it does not exist. */
function namespace(items: CompletionItems, path: readonly string[]): boolean {
  const [inner, members] = [namespacesIn(path), membersOf(path)]
  for (const name of inner) items.add(name, CompletionItemKind.Module, { detail: [...path, name].join('.') })
  for (const { name, member } of members) {
    const details = { detail: declarationOf(member), text: member.text, snippet: snippetOf(name, member) }
    items.add(name, CompletionItemKind.Function, details)
  }
  return inner.length > 0 || members.length > 0
}

/** Adds the names in scope. */
function values(items: CompletionItems, from: number, offset: number, analysis: Analysis): void {
  const { text } = analysis
  const whole =
    from < offset ? analysis : analysis.with(`${text.slice(0, offset)} ${PLACEHOLDER} ${text.slice(offset)}`)
  const at = from < offset ? from : offset + 1
  const { module } = whole.parsed
  let isReached = false
  const names = walkBodies(module, [
    {
      identifier(node, _meaning, position) {
        if (node.start !== at || isReached) return
        isReached = true
        for (const name of position.known()) value(items, name, position.meaning(name), whole.text)
      }
    }
  ])
  for (const [name, entry] of names) {
    value(items, name, { kind: 'module', entry }, whole.text)
  }
  items.words(VALUE_WORDS, CompletionItemKind.Variable, '3')
  for (const name of NATIVES.globalNames()) {
    const member = NATIVES.global(name)
    if (member === undefined) items.add(name, CompletionItemKind.Module, { rank: '4' })
    else {
      const kind = isNativeFunction(member) ? CompletionItemKind.Function : CompletionItemKind.Constant
      items.add(name, kind, { detail: member.source, text: member.text, snippet: snippetOf(name, member), rank: '3' })
    }
  }
}

function value(items: CompletionItems, name: string, meaning: Meaning, text: string): void {
  if (meaning?.kind === 'local') {
    const kind = meaning.local.kind === 'state' ? CompletionItemKind.Property : CompletionItemKind.Variable
    items.add(name, kind, { rank: '1' })
  }
  if (meaning?.kind !== 'module') return
  const { entry } = meaning
  const detail = detailOf(entry.declaration, text)
  const details = detail === null ? { rank: '2' } : { detail, rank: '2' }
  if (entry.signature === null) {
    const kind = entry.kind === 'constant' ? CompletionItemKind.Constant : CompletionItemKind.Class
    items.add(name, kind, details)
    return
  }
  const required = entry.signature.params.filter(param => param.value === null).map(param => param.name.text)
  const kind = entry.kind === 'constructor' ? CompletionItemKind.EnumMember : CompletionItemKind.Function
  const isConstant = entry.kind === 'constructor' && entry.signature.params.length === 0
  items.add(name, kind, { ...details, ...(isConstant ? {} : { snippet: callSnippet(name, required) }) })
}

function detailOf(declaration: Declaration, text: string): string | null {
  if (!('params' in declaration) || !('name' in declaration) || declaration.name === null) return null
  const result = 'result' in declaration ? declaration.result : null
  return `${declaration.name.text}${callSignature(declaration.params ?? [], result, text)}`
}
