import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DECORATORS, KEYWORDS, Kind, LAST_KEYWORD, lex } from '@svc/plugin-compiler/testing'
import t from 'tap'
import oniguruma from 'vscode-oniguruma'
import textmate, { type IGrammar } from 'vscode-textmate'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const GRAMMAR = fileURLToPath(new URL('../syntaxes/vox.tmLanguage.json', import.meta.url))

/** Text of the source with the scopes that the grammar gives it, without `source.vox`. */
interface Scoped {
  readonly start: number
  readonly end: number
  readonly scopes: readonly string[]
}

async function loadGrammar(): Promise<IGrammar> {
  const wasm = readFileSync(createRequire(import.meta.url).resolve('vscode-oniguruma/release/onig.wasm'))
  await oniguruma.loadWASM(wasm)
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: patterns => new oniguruma.OnigScanner(patterns),
      createOnigString: text => new oniguruma.OnigString(text)
    }),
    loadGrammar: async () => textmate.parseRawGrammar(readFileSync(GRAMMAR, 'utf8'), GRAMMAR)
  })
  const grammar = await registry.loadGrammar('source.vox')
  if (grammar === null) throw new Error('the grammar cannot be read')
  return grammar
}

const grammar = await loadGrammar()

function scopedTexts(source: string): Scoped[] {
  const found: Scoped[] = []
  let stack = textmate.INITIAL
  let offset = 0
  for (const line of source.split('\n')) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack)
    for (const { startIndex, endIndex, scopes } of tokens) {
      const end = Math.min(endIndex, line.length)
      if (end > startIndex) found.push({ start: offset + startIndex, end: offset + end, scopes: scopes.slice(1) })
    }
    stack = ruleStack
    offset += line.length + 1
  }
  return found
}

/** Returns the innermost scope of each text in a source, for texts that are not white space. */
function shown(source: string): string[] {
  return scopedTexts(source)
    .map(({ start, end, scopes }) => [source.slice(start, end), scopes.at(-1)?.replace(/\.vox$/, '') ?? ''] as const)
    .filter(([text]) => text.trim() !== '')
    .map(([text, scope]) => `${text.trim()} ${scope}`)
}

/** Yields the programs of the examples, and those in the documentation. */
function* programs(): Generator<readonly [name: string, source: string]> {
  for (const name of readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.vox') && !name.includes('node_modules')) {
      yield [name, readFileSync(join(ROOT, 'examples', name), 'utf8')]
    }
  }
  const plugins = readdirSync(join(ROOT, 'plugins')).map(name => `plugins/${name}/README.md`)
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(name => `docs/${name}`)
  for (const name of [...pages, ...plugins].filter(each => each.endsWith('.md') && existsSync(join(ROOT, each)))) {
    const text = readFileSync(join(ROOT, name), 'utf8')
    let number = 0
    for (const [, block = ''] of text.matchAll(/^```vox\n(.*?)^```$/gms)) yield [`${name} ${++number}`, block]
  }
}

/** Scopes that a token of the language may have, by its kind. */
function expected(kind: number, text: string): RegExp {
  if (kind === Kind.String) return /^string\./
  if (kind === Kind.Int || kind === Kind.Float || kind === Kind.Decimal) return /^constant\.numeric\.|property/
  if (kind === Kind.Decorator) return /decorator/
  if (kind === Kind.TypeIdentifier) return /type|constant\.language|entity\.name|property|attribute/
  if (kind > Kind.Workflow && kind <= LAST_KEYWORD) {
    // A keyword is a name after a dot, before a colon, and as the name of an attribute.
    return /^(?:keyword|storage|constant)\.|property|attribute|entity\.name\.function/
  }
  if (kind <= LAST_KEYWORD) return /^(?:variable|entity|support|keyword|storage|constant|punctuation)\./
  return text === '#' ? /^comment/ : /^(?:punctuation|keyword|storage|meta)\.|attribute/
}

t.test('every example and every program of the documentation is highlighted without an error', async t => {
  let count = 0
  for (const [name, source] of programs()) {
    count++
    const texts = scopedTexts(source)
    const wrong = texts.filter(
      ({ start, end, scopes }) =>
        source.slice(start, end).trim() !== '' &&
        (scopes.length === 0 || scopes.some(scope => scope.startsWith('invalid')))
    )
    t.same(
      wrong.map(({ start, end }) => source.slice(start, end)),
      [],
      name
    )
  }
  t.ok(count > 40, `${count} programs`)
})

t.test('the grammar agrees with the lexer of the compiler on every token', async t => {
  for (const [name, source] of programs()) {
    const texts = scopedTexts(source)
    const { tokens } = lex(source)
    const wrong: string[] = []
    for (let index = 0, at = 0; index < tokens.length - 1; index++) {
      const start = tokens.start(index)
      while ((texts[at]?.end ?? Number.POSITIVE_INFINITY) <= start) at++
      const scope = texts[at]?.scopes.findLast(
        each => !each.startsWith('meta.') && !/punctuation\.definition/.test(each)
      )
      const found = scope ?? texts[at]?.scopes.at(-1) ?? ''
      const text = tokens.text(index)
      const isDecorator = tokens.kind(index) === Kind.Decorator
      const inner = isDecorator ? (texts[at + 1]?.scopes.at(-1) ?? '') : found
      if (!expected(tokens.kind(index), text).test(inner)) wrong.push(`${text}: ${inner}`)
    }
    for (const { start, end } of tokens.comments) {
      const first = texts.find(text => text.start <= start && start < text.end)
      if (first?.scopes[0]?.startsWith('comment.') !== true) wrong.push(`${source.slice(start, end)} is no comment`)
    }
    t.same(wrong, [], name)
  }
})

t.test('every keyword and every decorator of the compiler has a scope', async t => {
  const soft = new Set(
    'agent activity actor component effect env fragment http in on state to type view workflow'.split(' ')
  )
  for (const word of KEYWORDS) {
    const [first = ''] = shown(`fn f() {\n    ${word} x\n}`).filter(each => each.startsWith(`${word} `))
    const isName = first.endsWith('variable.other')
    t.ok(
      !isName || soft.has(word) || ['cleanup', 'derived', 'migrate', 'mount', 'extern'].includes(word),
      `${word}: ${first}`
    )
  }
  for (const name of DECORATORS) t.same(shown(`@${name}`).slice(1), [`${name} entity.name.function.decorator`])
})

t.test('names, types, calls, strings and elements have the scopes that themes know', async t => {
  t.same(shown('@query fn open(limit: int = 3) to List[Task] { db.Task.all().limit(limit) } // all'), [
    '@ punctuation.definition.decorator',
    'query entity.name.function.decorator',
    'fn storage.type.function',
    'open entity.name.function',
    '( punctuation.section.parens',
    'limit variable.other.property',
    ': punctuation.separator.type',
    'int support.type',
    '= keyword.operator.assignment',
    '3 constant.numeric.integer',
    ') punctuation.section.parens',
    'to keyword.other',
    'List support.type',
    '[ punctuation.section.brackets',
    'Task entity.name.type',
    '] punctuation.section.brackets',
    '{ punctuation.section.braces',
    'db variable.other',
    '. punctuation.accessor',
    'Task variable.other.property',
    '. punctuation.accessor',
    'all entity.name.function',
    '( punctuation.section.parens',
    ') punctuation.section.parens',
    '. punctuation.accessor',
    'limit entity.name.function',
    '( punctuation.section.parens',
    'limit variable.other',
    ') punctuation.section.parens',
    '} punctuation.section.braces',
    '// punctuation.definition.comment',
    'all comment.line.double-slash'
  ])
  t.match(shown('<button class="a" on:click={ n += 1 }>"More {n}"</button>'), [
    '< punctuation.definition.tag.begin',
    'button entity.name.tag',
    'class entity.other.attribute-name'
  ])
  t.notOk(
    shown('if a <b { c } else { a > b }').some(each => each.includes('tag')),
    'a comparison is no element'
  )
  t.ok(
    shown('"a \\n # // b"').every(each => each.includes('string') || each.includes('escape')),
    'a string has no comment'
  )
})
