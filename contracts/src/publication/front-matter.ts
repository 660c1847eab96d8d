import {
  isMap,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  parseDocument,
  visit,
  type YAMLMap
} from 'yaml'

const MAX_BYTES = 64 * 1024
const MAX_LEVELS = 50
const MAX_TOKENS = 10_000
/** Entries of the parser's stack that are not levels of the text: the document, and a value that is being read. */
const OWN_ENTRIES = 2
const FENCE = /^---[ \t]*\r?$/

/** Fields of a Markdown file in YAML, between two lines of `---` at its beginning, and the text after them. */
export interface FrontMatter {
  readonly value: Readonly<Record<string, unknown>>
  /** Text after the closing line, as it is in the file. */
  readonly body: string
  /** Line of the file in which the body begins. */
  readonly bodyLine: number
  /** Returns the line of a field in the file, or that of the nearest enclosing field that exists. */
  lineOf(path: readonly string[]): number
}

/** The front matter cannot be read. */
export class FrontMatterError extends Error {
  readonly line: number
  readonly hint: string

  constructor(message: string, line: number, hint: string) {
    super(message)
    this.line = line
    this.hint = hint
  }
}

/**
 * Returns the front matter of a Markdown file; null if it does not begin with one. It has at most 64 KiB, 50 levels and
 * 10,000 words and marks. Anchors, aliases, tags and repeated keys are errors, so that the size of the file limits what
 * it costs. Throws {@link FrontMatterError}.
 */
export function readFrontMatter(text: string): FrontMatter | null {
  const parts = split(text.startsWith('\ufeff') ? text.slice(1) : text)
  if (parts === null) return null
  const [yaml, body] = parts
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line + 1
  const { contents, value } = parse(yaml, lines, lineAt)
  // The YAML ends with a line break; the opening line comes before it, and the closing one before the body.
  const bodyLine = yaml.split('\n').length + 2
  return {
    value,
    body,
    bodyLine,
    lineOf(path) {
      let node: Node | null = contents
      let offset = contents?.range?.[0] ?? 0
      for (const key of path) {
        const pair: Pair | undefined = isMap(node)
          ? node.items.find(each => isScalar(each.key) && String(each.key.value) === key)
          : undefined
        if (pair === undefined) break
        offset = (pair.key as Node).range?.[0] ?? offset
        node = pair.value as Node | null
      }
      return lineAt(offset)
    }
  }
}

function parse(yaml: string, lines: LineCounter, lineAt: (offset: number) => number) {
  const excess = yamlExcess(yaml)
  if (excess !== null)
    throw new FrontMatterError(`the front matter has more than ${excess}`, 2, 'remove what svc does not read')
  const document = parseDocument(yaml, {
    lineCounter: lines,
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    prettyErrors: false
  })
  const fail = (problem: string, { range }: { range?: readonly number[] | null | undefined }) => {
    throw new FrontMatterError(problem, lineAt(range?.[0] ?? 0), 'write the value out')
  }
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) {
    const message = problem.message.split('\n')[0] ?? problem.code
    throw new FrontMatterError(message, lineAt(problem.pos[0]), 'correct the YAML')
  }
  visit(document, {
    Alias: (_key, node) => fail('aliases are not allowed in front matter', node),
    Node: (_key, node) => {
      if ('anchor' in node && node.anchor !== undefined) fail('anchors are not allowed in front matter', node)
    }
  })
  const { contents } = document
  if (contents !== null && !isMap(contents)) {
    if (isScalar(contents) && contents.value === null) return { contents: null, value: {} }
    throw new FrontMatterError('the front matter is not a map of fields', 2, 'write fields such as `id: …`')
  }
  const value = (document.toJS() ?? {}) as Readonly<Record<string, unknown>>
  return { contents: contents as YAMLMap | null, value }
}

/**
 * Returns which limit a YAML text exceeds, 50 levels or 10,000 words and marks; null if none. Check texts of others before
 * they are parsed: the parser recurses once for each level, which can end the whole process, and compares each key with
 * all others. This reads tokens without building a tree.
 */
export function yamlExcess(yaml: string): string | null {
  const parser = new Parser()
  let tokens = 0
  for (const token of new Lexer().lex(yaml)) {
    Array.from(parser.next(token))
    if (parser.stack.length > MAX_LEVELS + OWN_ENTRIES) return `${MAX_LEVELS} nested levels`
    if (++tokens > MAX_TOKENS) return `${MAX_TOKENS} words and marks`
  }
  return null
}

/** Returns the YAML text, whose first line is line 2 of the file, and the body; null without an opening line. */
function split(text: string): readonly [string, string] | null {
  const firstEnd = text.indexOf('\n')
  if (firstEnd === -1 || !FENCE.test(text.slice(0, firstEnd))) return null
  const from = firstEnd + 1
  for (let start = from; start <= text.length && start - from <= MAX_BYTES; ) {
    const newline = text.indexOf('\n', start)
    const end = newline === -1 ? text.length : newline
    if (end - start < 100 && FENCE.test(text.slice(start, end))) {
      const yaml = text.slice(from, start)
      if (Buffer.byteLength(yaml) > MAX_BYTES) break
      return [yaml, text.slice(end + 1)]
    }
    if (newline === -1) break
    start = end + 1
  }
  const problem = `the front matter has no closing line --- within ${MAX_BYTES / 1024} KiB`
  throw new FrontMatterError(problem, 1, 'end it with a line ---')
}
