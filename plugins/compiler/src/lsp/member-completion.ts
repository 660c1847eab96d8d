import { defined } from '@svc/plugin-sdk'
import { CompletionItemKind } from 'vscode-languageserver'
import { DB_HEADS, MODIFIERS, readDbChain } from '../types/db/chain.ts'
import { tablesOf } from '../types/db/db-tables.ts'
import type { Analysis } from './analysis.ts'
import { type CompletionItems, callSnippet } from './completion-items.ts'
import { findMember } from './hover.ts'
import { type KnownType, knownType } from './known-types.ts'
import { snippetOf } from './natives.ts'
import { callSignature } from './signatures.ts'
import { DATABASE_WORDS } from './vocabulary/database.ts'

/** Adds the methods that begin a chain on a table, except raw SQL. */
export function tableOperations(items: CompletionItems): void {
  operations(
    items,
    DB_HEADS.filter(head => head !== 'query')
  )
}

/** Adds the fields, methods and handlers of the value before the dot. `from` is the start of the word after the dot. */
export function memberCompletions(items: CompletionItems, from: number, analysis: Analysis): void {
  const object = findMember(from, analysis)?.object
  if (object === undefined) return
  if (object.kind === 'Call' && readDbChain(object, tablesOf(analysis.parsed.module)) !== null) {
    operations(items, [...MODIFIERS, 'count'])
  }
  const type = knownType(object, analysis)
  if (type !== null) typeMembers(items, type, analysis)
}

function operations(items: CompletionItems, names: readonly string[]): void {
  for (const name of names) {
    const { signature, text, snippet } = DATABASE_WORDS.get(name) ?? {}
    items.add(
      name,
      CompletionItemKind.Method,
      defined({ detail: signature, text, snippet: snippet ?? name, rank: '1' as const })
    )
  }
}

function typeMembers(items: CompletionItems, { fields, actor, methods }: KnownType, analysis: Analysis): void {
  for (const [name, type] of fields) {
    items.add(name, CompletionItemKind.Field, { detail: `${name}: ${type}`, rank: '2' })
  }
  for (const member of actor?.members ?? []) {
    if (member.kind !== 'Handler') continue
    const { event, params, result } = member
    const required = params.filter(({ value }) => value === null).map(({ name }) => name.text)
    items.add(event.text, CompletionItemKind.Method, {
      detail: `${event.text}${callSignature(params, result, analysis.text)}`,
      snippet: callSnippet(event.text, required),
      rank: '2'
    })
  }
  for (const { name, declaration, signature } of methods) {
    const snippet = snippetOf(name, signature)
    items.add(name, CompletionItemKind.Method, { detail: declaration, text: signature.text, snippet, rank: '3' })
  }
}
