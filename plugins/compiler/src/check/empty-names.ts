import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Call, ObjectEntry, With } from '../syntax/ast-expressions.ts'
import { entryKey, entryValue } from '../syntax/entries.ts'
import type { AnyNode } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

/** Calls whose first argument names something. */
const NAMING: Readonly<Record<string, string>> = {
  live: 'a topic',
  scope: 'a scope',
  workflow_wait_signal: 'a signal',
  state_load: 'a key',
  state_save: 'a key'
}

/** Reports empty strings that should name something. */
export class EmptyNamesRule implements NodeRule {
  readonly kinds = ['Call', 'With']
  readonly found: Diagnostic[] = []

  node(node: AnyNode): void {
    if (node.kind === 'Call') this.found.push(...emptyArgument(node as Call))
    if (node.kind !== 'With') return
    const { options } = node as With
    if (options.kind === 'Object') this.found.push(...options.entries.flatMap(emptyId))
  }
}

function emptyArgument({ callee, args }: Call): Diagnostic[] {
  const name = callee.kind === 'Member' ? callee.property.text : callee.kind === 'Identifier' ? callee.name : ''
  const isChain = callee.kind === 'Member' && (name === 'live' || name === 'scope')
  if (!Object.hasOwn(NAMING, name) || (callee.kind === 'Member' && !isChain)) return []
  const [first] = args
  if (first?.value.kind !== 'String' || first.value.value !== '') return []
  return [diagnostic('typecheck.hir.empty_name', `${NAMING[name]} needs a name`, first.value)]
}

function emptyId(entry: ObjectEntry): Diagnostic[] {
  const value = entryValue(entry)
  if (!['activity_id', 'id'].includes(entryKey(entry)) || value.kind !== 'String' || value.value !== '') return []
  return [diagnostic('typecheck.hir.empty_name', 'the id of an activity is empty', value)]
}
