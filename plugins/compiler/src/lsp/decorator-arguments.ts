import { AUTH_PROVIDERS, LIMIT_SUBJECTS, ROW_ACTIONS, WEBHOOK_PROVIDERS } from '@svc/contracts'
import { CompletionItemKind } from 'vscode-languageserver'
import { EFFECTS } from '../types/effect.ts'
import type { CompletionItems } from './completion-items.ts'

/** Named arguments of decorators, with the words that each can have. */
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  auth: { provider: AUTH_PROVIDERS, optional: ['true', 'false'], redirect: [], header: [] },
  rate_limit: { by: LIMIT_SUBJECTS, per: [], max: [] },
  cors: { origins: [] },
  webhook: { provider: WEBHOOK_PROVIDERS, secret: [] },
  endpoint: { kind: ['query', 'mutation', 'server'] },
  rule: Object.fromEntries(ROW_ACTIONS.map(action => [action, []]))
}

/** Words of decorators whose arguments have no names. */
const WORDS: Readonly<Record<string, readonly string[]>> = { uses: EFFECTS }

/** Words of the condition of a row rule, in addition to columns. */
const CONDITION_WORDS = 'and or not is isnt true false None'.split(' ')

/** Members of `user` in a row rule, with their types. */
const USER_MEMBERS: Readonly<Record<string, string>> = {
  id: 'str',
  roles: 'List[str]',
  scopes: 'List[str]',
  provider: 'str'
}

/** Adds the names of the arguments of a decorator, or the words that one of them can have. */
export function argumentCompletions(items: CompletionItems, decorator: string, argument: string | null): void {
  const named = Object.hasOwn(ARGUMENTS, decorator) ? ARGUMENTS[decorator] : undefined
  const words = argument === null ? WORDS[decorator] : named?.[argument]
  for (const word of words ?? []) items.add(word, CompletionItemKind.EnumMember, { rank: '1' })
  if (argument !== null) return
  for (const name of Object.keys(named ?? {})) {
    items.add(name, CompletionItemKind.Property, { detail: `${name}: …`, snippet: `${name}: $0`, rank: '1' })
  }
}

/** Adds the words of the condition of a row rule, except the columns. */
export function conditionCompletions(items: CompletionItems): void {
  items.add('user', CompletionItemKind.Variable, { detail: 'user: the caller', rank: '2' })
  for (const word of CONDITION_WORDS) items.add(word, CompletionItemKind.Keyword, { rank: '3' })
}

/** Adds what can follow `user.`, `user.roles.` and `user.scopes.` in a row rule. */
export function callerCompletions(items: CompletionItems, [root, member, ...deeper]: readonly string[]): void {
  if (root !== 'user' || deeper.length > 0) return
  if (member === undefined) {
    for (const [name, type] of Object.entries(USER_MEMBERS)) {
      items.add(name, CompletionItemKind.Field, { detail: `${name}: ${type}`, rank: '1' })
    }
  } else if (USER_MEMBERS[member] === 'List[str]') {
    const detail = 'contains(item: str) to bool'
    items.add('contains', CompletionItemKind.Method, { detail, snippet: 'contains("$1")', rank: '1' })
  }
}
