import { CompletionItemKind } from 'vscode-languageserver'
import { methodResult, methodsOf } from '../check/types/methods.ts'
import { show, type ValueType } from '../check/types/type.ts'
import type { Expression, Member } from '../syntax/ast-expressions.ts'
import { walk } from '../syntax/walk.ts'
import { DB_HEADS, MODIFIERS, readDbChain } from '../types/db/chain.ts'
import { tablesOf } from '../types/db/db-tables.ts'
import type { Analysis } from './analysis.ts'
import { type CompletionItems, callSnippet } from './completion-items.ts'
import { callSignature } from './signatures.ts'

/** Completion snippets of table operations. */
const SNIPPETS: Readonly<Record<string, string>> = {
  insert: 'insert({ $1 })',
  get: 'get($1)',
  find: 'find($1)',
  delete: 'delete($1)',
  update: 'update($1, { $2 })',
  all: 'all()',
  filter: 'filter({ $1 })',
  where: 'where({ $1 })',
  count: 'count()',
  order_by: 'order_by("$1")',
  limit: 'limit($1)',
  offset: 'offset($1)',
  page: 'page($1)',
  select: 'select("$1")',
  include: 'include("$1")',
  group_by: 'group_by("$1")',
  aggregate: 'aggregate({ $1 })',
  sum: 'sum("$1")',
  avg: 'avg("$1")',
  min: 'min("$1")',
  max: 'max("$1")',
  sync: 'sync()',
  using: 'using("$1")',
  live: 'live("$1")',
  scope: 'scope("$1")'
}

/** Adds the methods that begin a chain on a table, except raw SQL. */
export function tableOperations(items: CompletionItems): void {
  operations(
    items,
    DB_HEADS.filter(head => head !== 'query')
  )
}

/** Adds the fields, methods and handlers of the value before the dot. `from` is the start of the word after the dot. */
export function memberCompletions(items: CompletionItems, from: number, analysis: Analysis): void {
  const object = objectBefore(from, analysis)
  if (object === null) return
  if (object.kind === 'Call' && readDbChain(object, tablesOf(analysis.parsed.module)) !== null) {
    operations(items, [...MODIFIERS, 'count'])
  }
  const type = analysis.types.byExpression.get(object)
  if (type !== undefined) typeMembers(items, type, analysis)
}

function operations(items: CompletionItems, names: readonly string[]): void {
  for (const name of names) items.add(name, CompletionItemKind.Method, { snippet: SNIPPETS[name] ?? name, rank: '1' })
}

function objectBefore(from: number, { parsed }: Analysis): Expression | null {
  let object: Expression | null = null
  walk(parsed.module, node => {
    if (node.kind === 'Member' && (node as Member).property.start === from) object = (node as Member).object
    return object === null && node.start <= from && from <= node.end
  })
  return object
}

function typeMembers(items: CompletionItems, type: ValueType, analysis: Analysis): void {
  const fields = analysis.types.reader.fieldsOf(type)
  for (const [name, field] of fields ?? []) {
    items.add(name, CompletionItemKind.Field, { detail: `${name}: ${show(field)}`, rank: '2' })
  }
  if (type.kind === 'actor') {
    for (const member of type.declaration.members) {
      if (member.kind !== 'Handler') continue
      const { event, params, result } = member
      const required = params.filter(({ value }) => value === null).map(({ name }) => name.text)
      items.add(event.text, CompletionItemKind.Method, {
        detail: `${event.text}${callSignature(params, result, analysis.text)}`,
        snippet: callSnippet(event.text, required),
        rank: '2'
      })
    }
  }
  for (const method of methodsOf(type)) {
    const result = methodResult(type, method)
    const detail = `${show(type)}.${method}(…)${result === undefined ? '' : ` to ${show(result)}`}`
    items.add(method, CompletionItemKind.Method, { detail, snippet: `${method}($1)`, rank: '3' })
  }
}
