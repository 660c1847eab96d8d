import { isMap, isScalar, Lexer, LineCounter, type Node, type Pair, Parser, parseDocument, type YAMLMap } from 'yaml'

const MAX_FRONT_MATTER_BYTES = 64 * 1024
const MAX_DEPTH = 64
const MAX_TOKENS = 10_000

/** Place of a value in a file, for messages. */
export interface FrontMatter {
  readonly value: Readonly<Record<string, unknown>>
  readonly body: string
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

const FENCE = /^---[ \t]*$/

/**
 * Splits a Markdown file into YAML front matter and body. Anchors, aliases, tags and repeated keys are errors, so the
 * cost of a file is limited by its size. Throws {@link FrontMatterError}.
 */
export function readFrontMatter(text: string): FrontMatter {
  const [yaml, body] = split(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  const lines = new LineCounter()
  const fail = (message: string, offset: number, hint: string) =>
    new FrontMatterError(message, lines.linePos(offset).line + 1, hint)
  const document = parse(yaml, lines)
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) {
    throw fail(problem.message.split('\n')[0] ?? problem.code, problem.pos[0], 'correct the YAML')
  }
  if (!isMap(document.contents)) throw new FrontMatterError('the front matter is no list of fields', 2, 'write `id: …`')
  const root: YAMLMap = document.contents
  let value: Readonly<Record<string, unknown>>
  try {
    value = document.toJS({ maxAliasCount: 0 }) as Readonly<Record<string, unknown>>
  } catch {
    throw new FrontMatterError('the front matter contains an alias', 2, 'write the value out instead of *alias')
  }
  return {
    value,
    body,
    lineOf(path) {
      let node: Node | null = root
      let offset = root.range?.[0] ?? 0
      for (const key of path) {
        const pair: Pair | undefined = isMap(node)
          ? node.items.find(each => isScalar(each.key) && String(each.key.value) === key)
          : undefined
        if (pair === undefined) break
        offset = (pair.key as Node).range?.[0] ?? offset
        node = pair.value as Node | null
      }
      return lines.linePos(offset).line + 1
    }
  }
}

function parse(yaml: string, lines: LineCounter): ReturnType<typeof parseDocument> {
  const excess = excessOf(yaml)
  if (excess !== null) {
    throw new FrontMatterError(`the front matter has more than ${excess}`, 2, 'remove what svc does not read')
  }
  return parseDocument(yaml, {
    lineCounter: lines,
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    prettyErrors: false
  })
}

/**
 * Returns which limit a text exceeds, or null. Reads tokens without building a tree: the parser of documents recurses once
 * for each level, compiles patterns as long as the indentation, and compares each key with all others.
 */
function excessOf(yaml: string): string | null {
  const parser = new Parser()
  let tokens = 0
  for (const token of new Lexer().lex(yaml)) {
    Array.from(parser.next(token))
    if (parser.stack.length > MAX_DEPTH) return `${MAX_DEPTH} nested levels`
    if (++tokens > MAX_TOKENS) return `${MAX_TOKENS} words and marks`
  }
  return null
}

/** Returns the YAML text, whose first line is line 2 of the file, and the body. */
function split(text: string): readonly [string, string] {
  const firstEnd = text.indexOf('\n')
  if (firstEnd === -1 || !FENCE.test(text.slice(0, firstEnd).replace(/\r$/, ''))) {
    throw new FrontMatterError('the file does not begin with front matter', 1, 'begin the file with a line ---')
  }
  for (let start = firstEnd + 1; start <= text.length; ) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end === -1 ? undefined : end).replace(/\r$/, '')
    if (FENCE.test(line)) {
      const yaml = text.slice(firstEnd + 1, start)
      if (Buffer.byteLength(yaml) > MAX_FRONT_MATTER_BYTES) break
      return [yaml, end === -1 ? '' : text.slice(end + 1)]
    }
    if (end === -1 || start > MAX_FRONT_MATTER_BYTES) break
    start = end + 1
  }
  const problem = `the front matter has no end within ${MAX_FRONT_MATTER_BYTES / 1024} KiB`
  throw new FrontMatterError(problem, 1, 'end it with a line ---')
}
