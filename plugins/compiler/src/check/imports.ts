import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'
import { importedNames } from './names/module-names.ts'

/** Names that two imports give, and crates of any version. */
export function checkImports({ items }: Module): Diagnostic[] {
  const first = new Map<string, Name>()
  const found: Diagnostic[] = []
  for (const item of items.flatMap(each => (each.kind === 'Import' ? each.items : []))) {
    for (const name of importedNames(item)) {
      const other = first.get(name.text)
      if (other === undefined) first.set(name.text, name)
      else {
        const related = [{ span: other, message: 'imported here first' }]
        const message = `\`${name.text}\` is imported twice`
        found.push(diagnostic('typecheck.import.alias_conflict', message, name, { related }))
      }
    }
    if (item.kind !== 'RustImport') continue
    if (item.metadata.some(({ key }) => ['version', 'path', 'git'].includes(key.text))) continue
    const message = `the crate \`${item.crate.text}\` may be of any version`
    const suggestions = [`write \`rust:${item.crate.text}(version: "…")\``]
    found.push(diagnostic('typecheck.rust_import.unpinned', message, item.crate, { suggestions }))
  }
  return found
}
