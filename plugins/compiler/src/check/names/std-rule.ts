import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Member } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import { STD_MEMBERS } from '../std-members.ts'
import type { BodyRule, Place } from './body-rule.ts'

/** Functions of the standard library that it does not have: `std.fs.raed`. */
export class StdRule implements BodyRule {
  readonly found: Diagnostic[] = []

  member({ object, property }: Member, place: Place): void {
    if (object.kind !== 'Member' || object.object.kind !== 'Identifier' || object.object.name !== 'std') return
    const members = STD_MEMBERS.get(object.property.text)
    if (members === undefined || members.includes(property.text) || property.text === '') return
    if (place.meaning('std')?.kind !== 'builtin') return
    const path = `std.${object.property.text}`
    const near = nearName(property.text, members)
    this.found.push(
      diagnostic('typecheck.unknown_std', `\`${path}\` has no \`${property.text}\``, property, {
        suggestions: [`it has ${members.map(member => `\`${member}\``).join(', ')}`],
        ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: property, replacement: near }] })
      })
    )
  }
}
