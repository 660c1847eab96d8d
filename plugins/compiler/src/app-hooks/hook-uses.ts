import { pathParameters } from '@svc/contracts'
import type { Module } from '../syntax/ast.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { type HookName, hookEntry } from './hook-entries.ts'

/** A function named by a hook, with the names of the arguments that the hook passes. */
export interface HookUse {
  readonly hook: HookName
  readonly name: string
  readonly offers: readonly string[]
}

/** Returns every use of a function in the app hooks of a module. */
export function hookUses({ items }: Module): HookUse[] {
  return items.flatMap(item => {
    const { hook } = item.kind === 'AppHook' ? item : { hook: 'tokens' as const }
    if (item.kind !== 'AppHook' || hook === 'tokens') return []
    return item.entries.flatMap(({ name, value }): HookUse[] => {
      const offers = hookEntry(hook, name.text)?.offers ?? []
      const bareValue = bare(value)
      if (bareValue.kind === 'Identifier') return [{ hook, name: bareValue.name, offers }]
      if (bareValue.kind !== 'Object') return []
      return bareValue.entries.flatMap((entry): HookUse[] => {
        const to = bare(entryValue(entry))
        const names = [...pathParameters(entryKey(entry)), ...offers]
        return to.kind === 'Identifier' ? [{ hook, name: to.name, offers: names }] : []
      })
    })
  })
}
