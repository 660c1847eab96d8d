import { extensionOf } from './language.ts'
import type { SourceFile } from './source-file.ts'

/** What a file contributes to the question which modules are imported. */
export interface Wiring {
  /** Last parts of the paths and module names that the file mentions, without extension. */
  readonly mentions: readonly string[]
  /** True if it may run without being imported. */
  readonly isEntry: boolean
}

const ENTRY =
  /(?:^|\/)(?:index|main|mod|lib|build|setup|app|server|cli|manage|wsgi|asgi|plugin|__init__|__main__|conftest|preload|worker|sw|service-worker)\.\w+$|\.(?:config|d|stories|page|worker|entry)\.\w+$|(?:^|\/)(?:bin|scripts?|tools?|migrations?|pages|routes|api|public|static|examples?|docs?|benches|bench)\//i

export function wiringOf(file: SourceFile): Wiring {
  const mentions = new Set<string>()
  for (const { start, end } of file.views.strings) {
    if (end - start > 260) continue
    const name = stem(file.text.slice(start, end).replace(/^[a-z]{0,2}["'`]+|["'`]+$/gi, ''))
    if (name !== '') mentions.add(name)
  }
  const { id } = file.language
  if (id === 'python')
    for (const [, from = '', names = ''] of file.views.code.matchAll(
      /^[ \t]*(?:from\s+([\w.]+)\s+)?import\s+(?:\(([^)]*)\)|[\w., *]+)/gm
    )) {
      for (const part of from.split('.')) if (part !== '') mentions.add(part)
      for (const part of names.split(/[\s,.]+/)) if (part !== '') mentions.add(part)
    }
  if (id === 'python')
    for (const [, names = ''] of file.views.code.matchAll(/\bimport\s+([\w., ]+)/g))
      for (const part of names.split(/[\s,.]+/)) if (part !== '') mentions.add(part)
  if (id === 'rust') for (const [, name = ''] of file.views.code.matchAll(/\bmod\s+(\w+)\s*;/g)) mentions.add(name)
  const isEntry =
    ENTRY.test(file.path) ||
    file.isTest ||
    file.text.startsWith('#!') ||
    (id === 'python' && file.text.includes('__main__')) ||
    (id === 'rust' && /\bfn\s+main\s*\(/.test(file.views.code)) ||
    ((id === 'javascript' || id === 'typescript') &&
      !/^\s*(?:export\b|module\.exports|exports\.)/m.test(file.views.code))
  return { mentions: [...mentions], isEntry }
}

/** Name of a module: the last part of a path, without its extension. */
export function stem(path: string): string {
  const last = path.split(/[/\\]/).pop() ?? ''
  const extension = extensionOf(last)
  return /^[\w.@$-]{1,120}$/.test(last) ? last.slice(0, extension === '' ? undefined : -extension.length - 1) : ''
}
