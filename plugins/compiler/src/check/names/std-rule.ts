import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Member } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import { memberPath } from '../member-path.ts'
import { NAMESPACE_MEMBERS, STD_MEMBERS } from '../std-members.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

/**
 * Reports unknown functions of the standard library and of other builtin namespaces: `std.fs.raed`, `Speech.transcrbe`.
 */
export class StdRule implements BodyRule {
  readonly found: Diagnostic[] = []

  member({ object, property }: Member, position: BodyPosition): void {
    const path = memberPath(object)
    if (path === null || property.text === '' || position.meaning(path[0] ?? '')?.kind !== 'builtin') return
    const members = membersOf(path)
    if (members === undefined || members.includes(property.text)) return
    const near = nearName(property.text, members)
    this.found.push(
      diagnostic('typecheck.unknown_std', `\`${path.join('.')}\` has no \`${property.text}\``, property, {
        suggestions: [`it has ${members.map(member => `\`${member}\``).join(', ')}`],
        ...spellingFix(near, property)
      })
    )
  }
}

function membersOf([root = '', namespace = '', ...rest]: readonly string[]): readonly string[] | undefined {
  if (root === 'std') return rest.length === 0 ? STD_MEMBERS.get(namespace) : undefined
  return namespace === '' ? NAMESPACE_MEMBERS.get(root) : undefined
}
