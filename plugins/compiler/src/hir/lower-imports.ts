import type { HirImport, HirRustImport, HirSpan } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { PathImport, ReactImport, RustImport } from '../syntax/ast.ts'

/** Lowers an import: one entry for each imported name. */
export function lowerImport(item: PathImport | ReactImport, span: HirSpan): HirImport[] {
  if (item.kind === 'ReactImport') return [{ module_path: [item.source.value], item: item.name.text, span }]
  const path = item.path.map(({ text }) => text)
  if (item.members === null) {
    return [{ module_path: path.slice(0, -1), item: item.alias?.text ?? path.at(-1) ?? '', span }]
  }
  return item.members.map(({ name, alias }) => ({ module_path: path, item: (alias ?? name).text, span }))
}

export function lowerCrate({ crate, alias, metadata }: RustImport, span: HirSpan): HirRustImport {
  const value = (key: string) => metadata.find(entry => entry.key.text === key)?.value.value
  const branch = value('branch')
  return {
    crate_name: crate.text,
    alias: alias?.text ?? crate.text,
    version: value('version') ?? null,
    path: value('path') ?? null,
    git: value('git') ?? null,
    rev: value('rev') ?? null,
    ...defined({ branch }),
    span
  }
}
