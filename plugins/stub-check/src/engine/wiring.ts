import { extensionOf } from './language.ts'
import type { SourceFile } from './source-file.ts'

/** Imports of a file, for the search for modules that no file imports. */
export interface Wiring {
  /** Last parts of the paths and module names that the file mentions, without extension. */
  readonly mentions: readonly string[]
  /** True if it may run without being imported. */
  readonly isEntry: boolean
}

/** Characters of a string literal that may be a path, with its quotes. */
const MAX_PATH = 260
const ENTRY =
  /(?:^|\/)(?:index|main|mod|lib|build|setup|app|server|cli|manage|wsgi|asgi|plugin|__init__|__main__|conftest|preload|worker|sw|service-worker)\.\w+$|\.(?:config|d|stories|page|worker|entry)\.\w+$|(?:^|\/)(?:bin|scripts?|tools?|migrations?|pages|routes|api|public|static|examples?|docs?|benches|bench)\//i

export function wiringOf(file: SourceFile): Wiring {
  const mentions = new Set<string>()
  const seen = new Set<string>()
  for (const { start, end } of file.views.strings) {
    if (end - start > MAX_PATH) continue
    const literal = file.text.slice(start, end)
    if (seen.has(literal)) continue
    seen.add(literal)
    const name = stem(literal.replace(/^[a-z]{0,2}["'`]+|["'`]+$/gi, ''))
    if (name !== '') mentions.add(name)
  }
  const { id } = file.language
  if (id === 'python') for (const name of pythonImports(file.views.code)) mentions.add(name)
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

/** Parts of the module names and of the names that a Python file imports. */
function* pythonImports(code: string): Iterable<string> {
  for (let at = code.indexOf('import'); at >= 0; at = code.indexOf('import', at + 6)) {
    const lineStart = code.lastIndexOf('\n', at) + 1
    const lineEnd = code.indexOf('\n', at)
    // Names in brackets may be on the next lines.
    const close = /^import\s*\(/.test(code.slice(at, at + 20)) ? code.indexOf(')', at) : lineEnd
    const statement = code.slice(lineStart, close < 0 ? undefined : Math.min(close, at + 4_000))
    for (const part of statement.split(/[^\w]+/)) if (part !== '' && part !== 'import' && part !== 'from') yield part
  }
}

/** Name of a module: the last part of a path, without its extension. */
export function stem(path: string): string {
  const last = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  const extension = extensionOf(last)
  return /^[\w.@$-]{1,120}$/.test(last) ? last.slice(0, extension === '' ? undefined : -extension.length - 1) : ''
}
