import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { RustImport } from '../../syntax/ast.ts'
import type { Member } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import { CURATED_CRATES } from '../rust-crates.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

/** Reports unknown names of crates whose items are known. */
export class RustRule implements BodyRule {
  readonly found: Diagnostic[] = []

  member({ object, property }: Member, position: BodyPosition): void {
    if (object.kind !== 'Identifier' || property.text === '') return
    const meaning = position.meaning(object.name)
    if (meaning?.kind !== 'module' || meaning.entry.declaration.kind !== 'Import') return
    const { name, declaration } = meaning.entry
    const imported = declaration.items.find(
      (item): item is RustImport => item.kind === 'RustImport' && (item.alias ?? item.crate) === name
    )
    const items = imported === undefined ? null : (CURATED_CRATES.get(imported.crate.text)?.items ?? null)
    if (imported === undefined || items === null || items.includes(property.text)) return
    const near = nearName(property.text, items)
    this.found.push(
      diagnostic(
        'typecheck.rust_import.unknown_item',
        `the crate \`${imported.crate.text}\` has no \`${property.text}\` that programs can use`,
        property,
        {
          suggestions: [`it has ${items.map(item => `\`${item}\``).join(', ')}`],
          related: [{ span: imported, message: 'imported here' }],
          ...spellingFix(near, property)
        }
      )
    )
  }
}
