import type { Module } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { literal } from '../typescript/names.ts'
import type { BehaviorNode } from './web-ir.ts'

/**
 * Returns the functions and values of app hooks as behaviours: an action for each entry, or for each link of a record.
 */
export function hookActions({ items }: Module): BehaviorNode[] {
  return items.flatMap(item => {
    if (item.kind !== 'AppHook' || item.hook === 'tokens') return []
    return item.entries.flatMap(({ name, value }) => actions(`${item.hook}.${name.text}`, bare(value)))
  })
}

function actions(name: string, value: Expression): BehaviorNode[] {
  switch (value.kind) {
    case 'String':
      return [{ Action: { name, payload_expr: literal(value.value), span: null } }]
    case 'Identifier':
      return [{ Action: { name, payload_expr: value.name, span: null } }]
    case 'Object':
      return value.entries.flatMap(entry => actions(`${name} ${entryKey(entry)}`, bare(entryValue(entry))))
    default:
      return []
  }
}
