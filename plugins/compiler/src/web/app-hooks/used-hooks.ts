import type { HookName } from '../../app-hooks/hook-entries.ts'
import type { AppHook, ImportItem, Module, PathImport } from '../../syntax/ast.ts'
import type { Expression, Member } from '../../syntax/ast-expressions.ts'
import { walk } from '../../syntax/walk.ts'
import { itemsOf } from '../web-module.ts'

/** App hooks and push functions that a program uses. */
export interface UsedHooks {
  readonly back_button: AppHook | null
  readonly deep_link: AppHook | null
  readonly push: boolean
  /** The `@push` hook; null if the program has none, but it may still use `std.mobile.push`. */
  readonly pushHook: AppHook | null
  /** True if the program uses `std.mobile.push`. */
  readonly usesPush: boolean
  /** True if the program uses deep links or the back button. */
  readonly app: boolean
}

/** Returns the used hooks; null for a program without hooks and pushes. */
export function usedHooks(module: Module): UsedHooks | null {
  const hooks = itemsOf(module, 'AppHook')
  const hook = (name: HookName): AppHook | null => hooks.find(each => each.hook === name) ?? null
  const [back_button, deep_link, pushHook] = [hook('back_button'), hook('deep_link'), hook('push')]
  const usesPush = mentionsPush(module)
  const [app, push] = [back_button !== null || deep_link !== null, pushHook !== null || usesPush]
  return app || push ? { back_button, deep_link, push, pushHook, usesPush, app } : null
}

function mentionsPush(module: Module): boolean {
  const names = new Set(['mobile'])
  for (const item of itemsOf(module, 'Import').flatMap(({ items }) => items)) {
    if (isMobileImport(item) && item.alias !== null) names.add(item.alias.text)
  }
  const isMobile = (expression: Expression): boolean => {
    if (expression.kind === 'Member') return expression.property.text === 'mobile'
    return expression.kind === 'Identifier' && names.has(expression.name)
  }
  let isUsed = false
  walk(module, node => {
    if (node.kind === 'Member') {
      const { object } = node as unknown as Member
      if (object.kind === 'Member' && object.property.text === 'push' && isMobile(object.object)) isUsed = true
    }
    return !isUsed
  })
  return isUsed
}

/** True for `import std.mobile`. */
export function isMobileImport(item: ImportItem): item is PathImport {
  return item.kind === 'PathImport' && item.path[0]?.text === 'std' && item.path[1]?.text === 'mobile'
}

/** Returns the value of an entry; undefined if it is omitted. */
export function entryOf(hook: AppHook, name: string): Expression | undefined {
  return hook.entries.find(each => each.name.text === name)?.value
}
