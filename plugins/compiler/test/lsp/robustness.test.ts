import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Position } from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import {
  Analysis,
  codeLenses,
  completions,
  definition,
  documentSymbols,
  formattingEdits,
  hover,
  inlayHints,
  OpenFiles,
  publishedDiagnostics,
  RenameRefused,
  rangeFormattingEdits,
  references,
  rename,
  semanticTokens,
  signatureHelp,
  Workspace
} from '#lsp'
import { mutated, randomFrom, tokenSoup } from '../mutated-source.ts'

/** Number of cases, which are the same in every run. Set SVC_TEST_FUZZ_CASES for more. */
const CASES = Number(process.env.SVC_TEST_FUZZ_CASES ?? 400)

const examples = new URL('../../../../examples/language/', import.meta.url)
const programs = readdirSync(examples)
  .filter(name => name.endsWith('.vox'))
  .map(name => readFileSync(new URL(name, examples), 'utf8'))
const options = { allowComponentFunctions: false, suppressHookLints: false }
/** A workspace in which no other file is open or next to the file. */
const alone = new Workspace(
  () => [],
  new OpenFiles(() => options),
  () => options
)

function renameOrRefuse(analysis: Analysis, position: Position, name: string): void {
  try {
    rename(analysis, position, name, alone)
  } catch (error) {
    if (!(error instanceof RenameRefused)) throw error
  }
}

t.test('every request succeeds for incomplete sources at any cursor position', t => {
  const random = randomFrom(31)
  let asked = 0
  for (let index = 0; index < CASES; index++) {
    const program = programs[Math.floor(random() * programs.length)] as string
    const source = random() < 0.3 ? tokenSoup(random) : mutated(program, random)
    const document = TextDocument.create('file:///a.vox', 'vox', 1, source)
    const analysis = new Analysis(document, options)
    try {
      publishedDiagnostics(analysis)
      documentSymbols(analysis)
      codeLenses(analysis)
      const whole = { start: document.positionAt(0), end: document.positionAt(source.length) }
      for (const { position } of inlayHints(analysis, whole)) {
        if (document.offsetAt(position) > source.length) t.fail(`an inlay hint is outside of the file\n${source}`)
      }
      const formatted = TextDocument.applyEdits(document, formattingEdits(analysis))
      if (TextDocument.applyEdits(document, rangeFormattingEdits(analysis, whole)) !== formatted) {
        t.fail(`the format of the whole range is not that of the file\n${source}`)
      }
      const { data } = semanticTokens(analysis)
      for (let at = 0; at < data.length; at += 5) {
        const [down = 0, along = 0, length = 0, type = -1] = data.slice(at, at + 4)
        if (down < 0 || along < 0 || length <= 0 || type < 0) t.fail(`a semantic token has no size or kind\n${source}`)
      }
      for (let place = 0; place < 3; place++) {
        const position = document.positionAt(Math.floor(random() * (source.length + 1)))
        for (const { textEdit } of completions(analysis, position)) {
          if (textEdit === undefined) t.fail(`a completion has no text edit\n${source}`)
        }
        hover(analysis, position)
        for (const { parameters } of signatureHelp(analysis, position)?.signatures ?? []) {
          if (parameters === undefined) t.fail(`a signature has no parameters\n${source}`)
        }
        definition(analysis, position, alone)
        references(analysis, position, true, alone)
        renameOrRefuse(analysis, position, random() < 0.5 ? 'fresh' : 'Fresh')
        asked++
      }
    } catch (error) {
      t.fail(`${error instanceof Error ? error.stack : String(error)}\n--- source:\n${source}`)
    }
  }
  t.equal(asked, 3 * CASES)
  t.end()
})
