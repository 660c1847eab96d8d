import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['plugin-sdk', 'contracts', 'config', 'kernel']

/** Returns the source file of each package entry of the project, for bundles whose other packages are external. */
export function sourceAliases(): Record<string, string> {
  const aliases: Record<string, string> = {}
  for (const folder of FOLDERS) {
    const root = join(import.meta.dirname, '..', folder)
    const file = join(root, 'package.json')
    if (!existsSync(file)) continue
    const { name, exports } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly name: string
      readonly exports: Readonly<Record<string, string | { readonly 'svc-source'?: string }>>
    }
    for (const [entry, target] of Object.entries(exports)) {
      const source = typeof target === 'string' ? undefined : target['svc-source']
      if (source !== undefined) aliases[`${name}${entry.slice(1)}`] = join(root, source)
    }
  }
  return aliases
}
