import { Lexer, LineCounter, Parser, parseDocument, visit } from 'yaml'
import { publicationErrors } from '../errors.ts'
import { lineAt } from '../review/text.ts'

const MAX_BYTES = 65_536
/** The parser recurses once for each level. */
const MAX_DEPTH = 50
const FENCE = /^---[ \t]*\r?$/

export interface FrontMatter {
  /** Null if the file has none. */
  readonly fields: Readonly<Record<string, unknown>> | null
  readonly body: string
  /** Line of the file in which the body begins. */
  readonly bodyLine: number
}

/**
 * Splits a Markdown file into the fields of its YAML front matter and its body. Anchors, aliases and tags are refused, so
 * that the size of the file limits what it costs. Throws `PUB_FILE_INVALID` with the line.
 */
export function splitFrontMatter(text: string, file: string): FrontMatter {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text
  const firstEnd = source.indexOf('\n')
  if (firstEnd === -1 || !FENCE.test(source.slice(0, firstEnd))) return { fields: null, body: source, bodyLine: 1 }
  const end = findFence(source, firstEnd + 1, file)
  const fields = parseFields(source.slice(firstEnd + 1, end.start), file)
  const body = source.slice(end.next).replace(/^(?:\r?\n)+/, '')
  return { fields, body, bodyLine: lineAt(source, source.length - body.length) }
}

export function refuse(file: string, line: number, problem: string): Error {
  return publicationErrors.create('PUB_FILE_INVALID', `${file}:${line}: ${problem}`, { at: { file, line } })
}

function findFence(source: string, from: number, file: string): { start: number; next: number } {
  for (let start = from; start < source.length && start - from <= MAX_BYTES; ) {
    const newline = source.indexOf('\n', start)
    const end = newline === -1 ? source.length : newline
    if (end - start < 100 && FENCE.test(source.slice(start, end))) {
      if (Buffer.byteLength(source.slice(from, start)) > MAX_BYTES) break
      return { start, next: Math.min(source.length, end + 1) }
    }
    start = end + 1
  }
  throw refuse(file, 1, `the front matter has no closing line --- within ${MAX_BYTES} bytes`)
}

function parseFields(yaml: string, file: string): Readonly<Record<string, unknown>> {
  checkDepth(yaml, file)
  const lines = new LineCounter()
  const lineOf = (offset: number) => lines.linePos(offset).line + 1
  const document = parseDocument(yaml, { lineCounter: lines, schema: 'core', prettyErrors: false, merge: false })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw refuse(file, lineOf(problem.pos[0]), problem.message)
  visit(document, {
    Alias: (_key, { range }) => {
      throw refuse(file, lineOf(range?.[0] ?? 0), 'aliases are not allowed; write the value out')
    },
    Node: (_key, node) => {
      if ('anchor' in node && node.anchor !== undefined)
        throw refuse(file, lineOf(node.range?.[0] ?? 0), 'anchors are not allowed; write the value out')
    }
  })
  const fields: unknown = document.toJS()
  if (fields === null) return {}
  if (typeof fields !== 'object' || Array.isArray(fields))
    throw refuse(file, 2, 'the front matter is not a map of fields')
  return { ...fields }
}

function checkDepth(yaml: string, file: string): void {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(yaml)) {
    for (const _ of parser.next(lexeme)) {
      // Tokens are not needed here.
    }
    if (parser.stack.length > MAX_DEPTH)
      throw refuse(file, 2, `the front matter has more than ${MAX_DEPTH} nested levels`)
  }
}
