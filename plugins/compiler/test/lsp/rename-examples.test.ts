import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { Analysis, OpenFiles, RenameRefused, rename, Workspace } from '#lsp'
import { type Declaration, type Identifier, walk } from '#syntax'

const examples = new URL('../../../../examples/language/', import.meta.url)
const options = { allowComponentFunctions: false, suppressHookLints: false }
/** A workspace in which no other file is open or next to the file. */
const alone = new Workspace(
  () => [],
  new OpenFiles(() => options),
  () => options
)

/** Kinds of symbols whose names belong to stored, sent or imported data. */
const FIXED: ReadonlySet<string> = new Set(['field', 'import', 'handler'])

/** Returns functions of hooks, whose parameters are matched by name. */
function hookFunctions({ parsed: { module } }: Analysis): ReadonlySet<Declaration> {
  const named = new Set<string>()
  for (const item of module.items) {
    if (item.kind !== 'AppHook') continue
    walk(item, node => {
      if (node.kind === 'Identifier') named.add((node as Identifier).name)
      return true
    })
  }
  return new Set(module.items.filter(item => item.kind === 'Function' && named.has(item.name.text)))
}

for (const name of readdirSync(examples).filter(each => each.endsWith('.vox'))) {
  t.test(`every name of ${name} can be renamed`, t => {
    const document = TextDocument.create(`file:///${name}`, 'vox', 1, readFileSync(new URL(name, examples), 'utf8'))
    const analysis = new Analysis(document, options)
    const codes = analysis.diagnostics.map(({ code }) => code)
    const hooked = hookFunctions(analysis)
    let renamed = 0
    for (const symbol of analysis.symbols.symbols()) {
      if (FIXED.has(symbol.kind) || (symbol.kind === 'parameter' && hooked.has(symbol.declaration))) continue
      const fresh = /^[A-Z]/.test(symbol.name) ? 'Fresh_name' : 'fresh_name'
      try {
        const { [document.uri]: edits = [] } = rename(
          analysis,
          document.positionAt(symbol.definition.start),
          fresh,
          alone
        )
        const after = analysis.with(TextDocument.applyEdits(document, edits))
        t.same(
          after.diagnostics.map(({ code }) => code),
          codes,
          `${symbol.kind} ${symbol.name}`
        )
        renamed++
      } catch (error) {
        if (!(error instanceof RenameRefused)) throw error
        if (/by that name$/.test(error.message)) continue
        t.fail(`${symbol.kind} ${symbol.name}: ${error.message}`)
      }
    }
    t.ok(renamed > 0)
    t.end()
  })
}
