import type { ComponentMember } from '../syntax/ast.ts'
import type { Identifier, StringLiteral } from '../syntax/ast-expressions.ts'
import { walk } from '../syntax/walk.ts'
import { boundNames } from '../types/module-names.ts'

/**
 * Sorts members of a component, so that each comes after the members whose values it uses. Other members, and those
 * with cyclic uses, stay in source order.
 */
export function inOrderOfUse<M extends ComponentMember>(members: readonly M[]): M[] {
  const declared = new Map(members.flatMap(member => namesOf(member).map(name => [name, member] as const)))
  const ordered = new Set<M>()
  const begun = new Set<M>()
  const add = (member: M): void => {
    if (begun.has(member)) return
    begun.add(member)
    for (const name of mentioned(member)) {
      const used = declared.get(name)
      if (used !== undefined && used !== member) add(used)
    }
    ordered.add(member)
  }
  for (const member of members) add(member)
  return [...ordered]
}

function namesOf(member: ComponentMember): string[] {
  if (member.kind === 'State' || member.kind === 'Derived') return [member.name.text]
  return member.kind === 'Let' ? boundNames(member.pattern).map(({ text }) => text) : []
}

function mentioned(member: ComponentMember): string[] {
  const names: string[] = []
  walk(member, node => {
    if (node.kind === 'Identifier') names.push((node as Identifier).name)
    if (node.kind === 'String') {
      for (const [, name = ''] of (node as StringLiteral).value.matchAll(/\{(\w+)/g)) names.push(name)
    }
    return true
  })
  return names
}
