import type { LexicalSyntax } from '../lex/languages.ts'
import { type FunctionFact, MARKER, MAX_STATEMENTS } from './functions.ts'
import type { SourceViews } from './source-views.ts'

/** Function with a body in braces: `function f(…) {`, `fn f(…) to T {`, `func (r R) f(…) T {`. */
const BRACE_FUNCTION =
  /\b(?:function\s+(\w+)|fn\s+(\w+)|func\s+(?:\([^(){}]{0,80}\)\s*)?(\w+)|fun\s+(\w+))\s*(?:<[^<>(){}]{0,80}>\s*)?\(([^(){}]{0,400})\)[^{};=\n]{0,120}\{/g
/** Function with an indented body: `func f(a: int) -> void:`. */
const INDENTED_FUNCTION =
  /^([ \t]*)(?:static[ \t]+|async[ \t]+)*(?:func|def)[ \t]+(\w+)[ \t]*\(([^()\n]{0,400})\)[^:\n]{0,120}:/gm
/** Characters of a body that are searched for its end. */
const MAX_BODY = 20_000
const MAX_FUNCTIONS = 5_000

/** Returns the functions of a text whose language has no grammar here. */
export function lexicalFunctions(views: SourceViews, syntax: LexicalSyntax): readonly FunctionFact[] {
  if (syntax.kind === 'gdscript' || syntax.kind === 'python') return indentedFunctions(views)
  return syntax.kind === 'hash' || syntax.kind === 'dash' || syntax.kind === 'markup' ? [] : braceFunctions(views)
}

function braceFunctions(views: SourceViews): FunctionFact[] {
  const found: FunctionFact[] = []
  for (const match of views.code.matchAll(BRACE_FUNCTION)) {
    if (found.length >= MAX_FUNCTIONS) break
    const open = match.index + match[0].length - 1
    const close = closingBrace(views.code, open)
    if (close === null) continue
    const name = match[1] ?? match[2] ?? match[3] ?? match[4] ?? ''
    const lines = splitStatements(views.source.slice(open + 1, close))
    const before = views.source.slice(Math.max(0, match.index - 200), match.index)
    // Decorators are on the lines directly above.
    const decorators = /(?:^|\n)((?:[ \t]*@[^\n]*\n)+)[^\n]*$/.exec(before)?.[1] ?? ''
    found.push(
      factOf(
        views,
        { name, at: match.index, open, close: close + 1, bodyFrom: open + 1, lines, parameters: match[5] ?? '' },
        decorators
      )
    )
  }
  return found
}

/** Offset of the brace that closes the one at `open`; null if it is too far away or missing. */
function closingBrace(code: string, open: number): number | null {
  let depth = 0
  const end = Math.min(code.length, open + MAX_BODY)
  for (let at = open; at < end; at++) {
    const character = code.charCodeAt(at)
    if (character === 123) depth += 1
    else if (character === 125 && --depth === 0) return at
  }
  return null
}

function indentedFunctions(views: SourceViews): FunctionFact[] {
  const found: FunctionFact[] = []
  for (const match of views.code.matchAll(INDENTED_FUNCTION)) {
    if (found.length >= MAX_FUNCTIONS) break
    const [whole, indent = '', name = '', parameters = ''] = match
    const open = match.index + whole.length
    const close = blockEnd(views.code, open, indent.length)
    const lines = splitStatements(views.source.slice(open, close))
    const at = match.index + indent.length
    const decorators = /(?:^|\n)((?:[ \t]*@[^\n]*\n)+)$/.exec(
      views.source.slice(Math.max(0, match.index - 200), match.index)
    )?.[1]
    found.push(factOf(views, { name, at, open, close, bodyFrom: open, lines, parameters }, decorators ?? ''))
  }
  return found
}

/** End of the lines below a function's header that are indented more than it. */
function blockEnd(code: string, open: number, indent: number): number {
  let at = code.indexOf('\n', open)
  if (at < 0) return code.length
  // A body on the line of the header.
  if (code.slice(open, at).trim() !== '') return at
  const limit = Math.min(code.length, open + MAX_BODY)
  let end = at
  while (at >= 0 && at < limit) {
    const next = code.indexOf('\n', at + 1)
    const line = code.slice(at + 1, next < 0 ? code.length : next)
    if (line.trim() !== '') {
      if (line.length - line.trimStart().length <= indent) break
      end = next < 0 ? code.length : next
    }
    if (next < 0) return code.length
    at = next
  }
  return end
}

function splitStatements(body: string): string[] {
  return body
    .split(/[\n;]/)
    .map(line => line.trim())
    .filter(line => line !== '')
}

interface Found {
  readonly name: string
  readonly at: number
  readonly open: number
  readonly close: number
  readonly bodyFrom: number
  readonly lines: readonly string[]
  readonly parameters: string
}

function factOf(views: SourceViews, found: Found, decorators: string): FunctionFact {
  const { name, at, open, close, bodyFrom, lines, parameters } = found
  const header = `${decorators}${views.source.slice(at, open)}`
  const isExplained = views.comments.some(
    ({ start, end }) => start >= bodyFrom && end <= close && !MARKER.test(views.text.slice(start, end))
  )
  return {
    name,
    at,
    range: { start: at, end: close },
    body: { start: open, end: close },
    statements: lines.slice(0, MAX_STATEMENTS),
    count: lines.length,
    parameters: parameters.split(',').flatMap(each => /^\s*(\w+)/.exec(each)?.slice(1) ?? []),
    header,
    isAsync: /\basync\b/.test(header),
    isMethod: false,
    isExported: !name.startsWith('_'),
    isAbstract: /\babstract\b|\bvirtual\b/.test(header),
    isExpression: false,
    isExplained,
    isTest: /@test\b|@forall\b/.test(decorators)
  }
}
