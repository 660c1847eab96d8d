import { type Language, languageOf } from './languages.ts'
import { type Comment, lex } from './lex.ts'
import { pythonBodies } from './python-bodies.ts'

export interface StubFinding {
  /** Line number, from 1. */
  readonly line: number
  readonly rule: 'macro' | 'not_implemented' | 'elided' | 'empty_body' | 'marker'
  readonly severity: 'error' | 'warning'
  /** The matched text, at most 80 characters. */
  readonly text: string
}

/** Maximum findings per file. */
const MAX_FINDINGS = 50

/** Marker in a comment that exempts its line and the next one. */
const ALLOWED = /\bstubcheck:\s*allow\b/i

/**
 * Scans source code for placeholders. Returns null for a path that is not source code.
 *
 * Errors: `todo!()`, `unimplemented!()`, Kotlin's `TODO()`, Scala's `???`; a throw, raise or panic that says that something
 * is not implemented; Python functions that are `...`; comments in place of code ("... rest of the code ...", "your code
 * here", "omitted for brevity").
 * Warnings: TODO, FIXME, XXX, TBD, "not implemented" and "placeholder" in comments; functions with an empty body.
 *
 * Scans comments and code, but not the contents of strings. Runs in linear time.
 */
export function scanForStubs(path: string, text: string): readonly StubFinding[] | null {
  const language = languageOf(path)
  if (language === null) return null
  const { code, comments } = lex(text, language)
  const found: {
    readonly offset: number
    readonly rule: StubFinding['rule']
    readonly severity: StubFinding['severity']
  }[] = []
  const add = (offset: number, rule: StubFinding['rule'], severity: StubFinding['severity']): void => {
    found.push({ offset, rule, severity })
  }
  for (const offset of macros(code, language)) add(offset, 'macro', 'error')
  for (const offset of refusals(code, text, language)) add(offset, 'not_implemented', 'error')
  for (const comment of comments) judgeComment(comment, add)
  if (language.kind !== 'python')
    for (const match of code.matchAll(EMPTY_BODY)) add(match.index, 'empty_body', 'warning')

  const starts = lineStarts(text)
  if (language.kind === 'python')
    for (const { line, rule, severity } of pythonBodies(code.split('\n'), path.endsWith('.pyi')))
      add(starts[line] ?? 0, rule, severity)

  const allowed = new Set<number>()
  for (const comment of comments) {
    if (!ALLOWED.test(comment.text)) continue
    const line = lineAt(starts, comment.start)
    allowed.add(line).add(line + 1)
  }
  return found
    .map(({ offset, ...rest }) => ({ ...rest, offset, line: lineAt(starts, offset) }))
    .filter(({ line }) => !allowed.has(line))
    .sort((one, other) => one.offset - other.offset)
    .slice(0, MAX_FINDINGS)
    .map(({ line, rule, severity }) => ({ line, rule, severity, text: lineText(text, starts, line) }))
}

const MACROS: Readonly<Partial<Record<Language['kind'], RegExp>>> = {
  rust: /\b(?:todo|unimplemented)!\s*[([{]/g,
  kotlin: /\bTODO\s*\(/g,
  scala: /\?\?\?/g
}

function* macros(code: string, language: Language): Iterable<number> {
  const pattern = MACROS[language.kind]
  if (pattern !== undefined) for (const match of code.matchAll(pattern)) yield match.index
}

const NAMED = /\b(?:throw|raise)\s+(?:new\s+)?(?:[\w.]+\.)?NotImplemented(?:Error|Exception)\b/g
const THROWN =
  /\b(?:throw\s+(?:new\s+)?[\w.:]*|raise\s+[\w.]*|raise|panic!?|fatalError|unreachable!|die|todo|assert|preconditionFailure)\s*\(?/g
const SAYS = /^[^\n]{0,40}["'`][^"'`\n]{0,60}\b(?:not (?:yet )?implemented|unimplemented|implement me|todo\b|tbd\b)/i

function* refusals(code: string, text: string, language: Language): Iterable<number> {
  // In Python, abstract methods may raise it; `pythonBodies` checks whole functions.
  if (language.kind !== 'python') for (const match of code.matchAll(NAMED)) yield match.index
  for (const match of code.matchAll(THROWN)) {
    const behind = text.slice(match.index + match[0].length, match.index + match[0].length + 120)
    if (SAYS.test(behind)) yield match.index
  }
}

const ELIDED: readonly RegExp[] = [
  /(?:\.\.\.|…)\s*(?:existing|rest|remaining|other|same|previous|more)\b[^\n]{0,40}/i,
  /\b(?:your|the|actual|real) (?:code|logic|implementation) (?:goes )?here\b/i,
  /\b(?:implementation|logic|code) goes here\b/i,
  /\brest of (?:the |your )?(?:code|implementation|file|function|class|method)s? (?:here|remains|unchanged|stays|is the same|omitted)\b/i,
  /\bomitted for brevity\b/i,
  /^\W*(?:implement (?:me|this|here)|to be implemented|stub(?:bed)?(?: implementation)?|placeholder(?: implementation)?)\W*$/i
]
const MARKERS = /\b(?:TODO|FIXME|XXX|TBD)\b|\b(?:todo|fixme):|\bnot (?:yet )?implemented\b|\bplaceholder\b/

/** Quoted text or code in a comment, which is only mentioned. */
const QUOTED = /"[^"\n]{0,200}"|`[^`\n]{0,200}`/g

function judgeComment(
  { text, start }: Comment,
  add: (offset: number, rule: StubFinding['rule'], severity: StubFinding['severity']) => void
): void {
  let offset = start
  for (const line of text.split('\n')) {
    const own = line.replace(QUOTED, '')
    if (ELIDED.some(pattern => pattern.test(own))) add(offset, 'elided', 'error')
    else if (MARKERS.test(own)) add(offset, 'marker', 'warning')
    offset += line.length + 1
  }
}

/** A named function with an empty body. */
const EMPTY_BODY =
  /\b(?:function\s+\w+|fn\s+\w+|func\s+(?:\([^(){}]{0,80}\)\s*)?\w+)\s*(?:<[^<>(){}]{0,80}>\s*)?\([^(){}]{0,200}\)[^{};=]{0,120}\{\s*\}/g

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Returns the number of the line at an offset, from 1. */
function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function lineText(text: string, starts: readonly number[], line: number): string {
  const start = starts[line - 1] ?? 0
  return text
    .slice(start, starts[line] ?? text.length)
    .trim()
    .slice(0, 80)
}
