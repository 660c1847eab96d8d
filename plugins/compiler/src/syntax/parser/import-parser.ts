import type { Import, ImportItem } from '../ast.ts'
import type { StringLiteral } from '../ast-expressions.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { InterfaceParser } from './interface-parser.ts'
import type { Prefix } from './type-declaration-parser.ts'

const METADATA = ['version', 'path', 'git', 'rev', 'branch']

/** Parses imports of paths, crates and components. */
export abstract class ImportParser extends InterfaceParser {
  protected imported({ start, decorators }: Prefix): Import {
    const [decorator] = decorators
    if (decorator !== undefined) this.report('E0001', 'an import cannot have decorators', decorator)
    this.advance()
    const items: ImportItem[] = []
    do items.push(this.#importItem())
    while (!this.inPanic && this.accept(Kind.Comma))
    return { kind: 'Import', start, end: this.lastEnd, items }
  }

  #importItem(): ImportItem {
    const { start } = this
    if (this.atWord('rust') && this.second === Kind.Colon) return this.#rustImport()
    if (this.atWord('react') && this.isNameAhead() && !this.isWord(this.position + 1, 'as')) {
      this.advance()
      const name = this.takeName()
      if (!this.acceptWord('from')) this.failExpecting(['`from`'], 'before a module')
      const source = this.expectString('a module')
      return { kind: 'ReactImport', start, end: this.lastEnd, name, source }
    }
    if (!this.atName) {
      this.failExpecting(['the name of the import'], 'after `import`', {
        suggestions: ['write `import std.fs`, or `import components/chart as { Chart }`']
      })
    }
    const path = [this.expectName('a name')]
    const separator = this.kind === Kind.Slash ? '/' : '.'
    while ((this.kind === Kind.Dot || this.kind === Kind.Slash) && !this.inPanic) {
      this.advance()
      path.push(this.expectName('a name'))
    }
    const item = { kind: 'PathImport', start, path, separator } as const
    if (this.inPanic || !this.acceptWord('as')) return { ...item, alias: null, members: null, end: this.lastEnd }
    if (this.kind !== Kind.LeftBrace) {
      return { ...item, alias: this.expectName('a name'), members: null, end: this.lastEnd }
    }
    const members = this.list(Kind.RightBrace, () => this.#importedMember())
    return { ...item, alias: null, members, end: this.lastEnd }
  }

  #importedMember(): { readonly name: Name; readonly alias: Name | null } {
    const name = this.expectName('a name')
    return { name, alias: this.acceptWord('as') ? this.expectName('a name') : null }
  }

  #rustImport(): ImportItem {
    const { start } = this
    this.advance()
    this.advance()
    const crate = this.expectName('the name of a crate')
    const metadata = this.kind === Kind.LeftParen ? this.list(Kind.RightParen, () => this.#metadata()) : []
    const alias = this.acceptWord('as') ? this.expectName('a name') : null
    return { kind: 'RustImport', start, end: this.lastEnd, crate, metadata, alias }
  }

  #metadata(): { readonly key: Name; readonly value: StringLiteral } {
    const key = this.expectName('`version`, `path`, `git`, `rev` or `branch`')
    if (key.text !== '' && !METADATA.includes(key.text)) {
      this.report('E0001', `a crate has no \`${key.text}\`; expected ${METADATA.join(', ')}`, key)
    }
    this.expect(Kind.Colon, 'after it')
    return { key, value: this.expectString('a value') }
  }
}
