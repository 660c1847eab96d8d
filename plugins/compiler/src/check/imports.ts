import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module, RustImport } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'
import { importedNames, moduleNames } from '../types/module-names.ts'
import { CURATED_CRATES } from '../types/rust-crates.ts'

/** Reports imports whose name is already in use, and crates with a restricted or unknown usage. */
export function checkImports(module: Module): Diagnostic[] {
  const items = module.items.flatMap(each => (each.kind === 'Import' ? each.items : []))
  if (items.length === 0) return []
  const first = new Map<string, Name>()
  const declared = declaredNames(module)
  const found: Diagnostic[] = []
  for (const item of items) {
    for (const name of importedNames(item)) {
      const [other, note] = first.has(name.text)
        ? [first.get(name.text), 'imported here first']
        : [declared.get(name.text), 'declared here']
      if (!first.has(name.text)) first.set(name.text, name)
      if (other === undefined) continue
      const message = `\`${name.text}\` is ${note.startsWith('i') ? 'imported twice' : 'both imported and declared'}`
      found.push(
        diagnostic('typecheck.import.alias_conflict', message, name, {
          related: [{ span: other, message: note }],
          suggestions: ['rename one of them with `as`']
        })
      )
    }
    if (item.kind === 'RustImport') found.push(...crateFindings(item))
  }
  return found
}

/** Returns the names of all declarations except imports. */
function declaredNames({ items, ...module }: Module): Map<string, Name> {
  const rest = { ...module, items: items.filter(({ kind }) => kind !== 'Import') }
  return new Map([...moduleNames(rest)].map(([text, { name }]) => [text, name]))
}

function crateFindings({ crate, metadata }: RustImport): Diagnostic[] {
  const found: Diagnostic[] = []
  if (!metadata.some(({ key }) => ['version', 'path', 'git'].includes(key.text))) {
    const suggestions = [`write \`rust:${crate.text}(version: "…")\``]
    const message = `the crate \`${crate.text}\` has no pinned version`
    found.push(diagnostic('typecheck.rust_import.unpinned', message, crate, { suggestions }))
  }
  const curated = CURATED_CRATES.get(crate.text)
  if (curated === undefined || curated.status === 'supported') return found
  const { status, instead } = curated
  const message = `the crate \`${crate.text}\` ${STATUS_TEXTS[status]}`
  return [...found, diagnostic(`typecheck.rust_import.${status}`, message, crate, { suggestions: [instead] })]
}

const STATUS_TEXTS = {
  internal: 'duplicates a feature of the language',
  deferred: 'is not built in yet',
  escape_hatch: 'bypasses guarantees of the language'
} as const
