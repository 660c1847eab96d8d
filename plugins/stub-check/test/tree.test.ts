import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { TreeCursor } from '@vscode/tree-sitter-wasm'
import t from 'tap'
import { Grammars, sourceLanguage } from '#root'

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/stub-check')

t.test("trees have the nodes, offsets and fields that the library's own cursor shows", async t => {
  const grammars = await Grammars.open()
  const main = createRequire(import.meta.url).resolve('@vscode/tree-sitter-wasm')
  const { Language, Parser } = createRequire(import.meta.url)(main) as typeof import('@vscode/tree-sitter-wasm')
  const parsers = new Map<string, InstanceType<typeof Parser>>()
  const texts = readdirSync(FOLDER)
    .filter(name => name.endsWith('.txt'))
    .flatMap(name => readFileSync(join(FOLDER, name), 'utf8').split(/^@@ /m).slice(1))
    .map(block => ({ path: block.slice(0, block.indexOf(' ')), text: block.slice(block.indexOf('\n') + 1) }))
  texts.push(
    { path: 'a.py', text: 'a = f"é {b("x")} 😀" + "\\n" + r"c" + fr\'{d}\'\ndef (:\n' },
    { path: 'a.tsx', text: `const a = \`é \${b('😀')}\`\nexport const d = <p title="e">{/f/g}</p>\n` },
    { path: 'a.rs', text: 'fn a() { let b = r#"c"#; d!("{}", b) } /* é /* f */ */ fn {' },
    { path: 'a.ts', text: '' }
  )
  let compared = 0
  for (const { path, text } of texts) {
    const grammar = sourceLanguage(path)?.grammar ?? null
    if (grammar === null) continue
    const types = await grammars.load(grammar)
    let parser = parsers.get(grammar)
    if (parser === undefined) {
      parser = new Parser()
      parser.setLanguage(await Language.load(readFileSync(join(dirname(main), `tree-sitter-${grammar}.wasm`))))
      parsers.set(grammar, parser)
    }
    const tree = parser.parse(text)
    const cursor = tree?.rootNode.walk()
    if (tree === null || cursor === undefined) throw new Error(`${path} was not parsed`)
    const expected: number[][] = []
    const visit = (at: TreeCursor, parent: number): void => {
      const id = at.nodeTypeId
      if (types.named[id] !== 1 && id !== 65_535) return
      const node = expected.push([id, at.startIndex, at.endIndex, parent, at.currentFieldId]) - 1
      const isFormatted = /^[a-z]{0,2}[ft]/i.test(text.slice(at.startIndex, at.endIndex))
      if (types.leaf[id] === 1 || (types.leaf[id] === 2 && !isFormatted) || !at.gotoFirstChild()) return
      do visit(at, node)
      while (at.gotoNextSibling())
      at.gotoParent()
    }
    visit(cursor, -1)
    cursor.delete()
    tree.delete()
    const found = grammars.parse(grammar, text, 60_000, 10_000)
    if (found === null) throw new Error(`${path} was not parsed`)
    const { count, type, start, end, parent, field, firstChild, nextSibling } = found
    const children = (at: number): number[] => {
      const all: number[] = []
      for (let child = firstChild[at] as number; child >= 0; child = nextSibling[child] as number) all.push(child)
      return all
    }
    const nodes = Array.from({ length: count }, (_, at) => [type[at], start[at], end[at], parent[at], field[at]])
    const linked = nodes.flatMap((_, at) => children(at).map(child => [child, at])).sort(([a = 0], [b = 0]) => a - b)
    t.strictSame(
      { nodes, linked },
      { nodes: expected, linked: expected.flatMap(([, , , above = -1], at) => (above < 0 ? [] : [[at, above]])) },
      path
    )
    compared += 1
  }
  t.ok(compared > 200, `${compared} texts`)
})

t.test('a tree with too many nodes is refused, and the next text is parsed', async t => {
  const grammars = await Grammars.open()
  await grammars.load('python')
  t.equal(grammars.parse('python', 'a = [1, 2, 3]\n'.repeat(40), 60_000, 50), null)
  t.equal(grammars.parse('python', 'a = 1\n', 60_000, 50)?.count, 5)
})
