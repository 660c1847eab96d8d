export interface PythonFinding {
  /** Index of the line, from 0. */
  readonly line: number
  readonly rule: 'not_implemented' | 'empty_body'
  readonly severity: 'error' | 'warning'
}

const DEFINITION = /^([ \t]*)(?:async[ \t]+)?def[ \t]+\w+/
const CLASS = /^([ \t]*)class[ \t]+(\w+)([^\n]*)/
const ABSTRACT_BASES = /\b(?:ABC|ABCMeta|Protocol)\b/
const ABSTRACT_NAME = /^_?(?:Base|Abstract)|(?:Base|Mixin|Interface)$/
const RAISES = /^raise[ \t]+NotImplementedError\b/

/**
 * Finds Python functions that do nothing: the body only raises `NotImplementedError`, or is `...` or `pass`. Functions
 * meant to be overridden (abstract methods, overloads, protocols, base classes) are valid. `lines`: code without comments
 * and strings.
 */
export function pythonBodies(lines: readonly string[], isInterfaceFile: boolean): PythonFinding[] {
  if (isInterfaceFile) return []
  const findings: PythonFinding[] = []
  const classes: { readonly indent: number; readonly isAbstract: boolean }[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.trim() === '') continue
    const indent = indentOf(line)
    while (classes.length > 0 && indent <= (classes.at(-1)?.indent ?? 0)) classes.pop()
    const type = CLASS.exec(line)
    if (type !== null) {
      const [, , name = '', rest = ''] = type
      classes.push({ indent, isAbstract: ABSTRACT_BASES.test(rest) || ABSTRACT_NAME.test(name) })
      continue
    }
    if (!DEFINITION.test(line)) continue
    if (classes.at(-1)?.isAbstract === true || isDecoratedAbstract(lines, at)) continue
    const finding = bodyFinding(lines, at, indent)
    if (finding !== null) findings.push(finding)
  }
  return findings
}

function bodyFinding(lines: readonly string[], definition: number, indent: number): PythonFinding | null {
  const body = bodyOf(lines, definition, indent)
  const [first] = body
  if (body.length !== 1 || first === undefined) return null
  if (RAISES.test(first.text)) return { line: first.line, rule: 'not_implemented', severity: 'error' }
  if (first.text === '...') return { line: first.line, rule: 'empty_body', severity: 'error' }
  return first.text === 'pass' ? { line: first.line, rule: 'empty_body', severity: 'warning' } : null
}

/** Returns at most two lines of a function's body: enough to know whether it has a single one. */
function bodyOf(lines: readonly string[], definition: number, indent: number) {
  const body: { readonly text: string; readonly line: number }[] = []
  let at = definition
  // The header may span lines; it ends with a colon.
  while (at < lines.length && at < definition + 50 && !/:\s*(?:\.\.\.|pass|raise\b[^\n]*)?\s*$/.test(lines[at] ?? ''))
    at += 1
  const inline = /:\s*(\.\.\.|pass|raise\b[^\n]*?)\s*$/.exec(lines[at] ?? '')?.[1]
  if (inline !== undefined) return [{ text: inline, line: at }]
  for (at += 1; at < lines.length && body.length < 2; at++) {
    const line = lines[at] ?? ''
    if (line.trim() === '') continue
    if (indentOf(line) <= indent) break
    body.push({ text: line.trim(), line: at })
  }
  return body
}

function isDecoratedAbstract(lines: readonly string[], definition: number): boolean {
  for (let at = definition - 1; at >= 0; at--) {
    const line = (lines[at] ?? '').trim()
    if (!line.startsWith('@')) return false
    if (/\b(?:abstractmethod|abstractproperty|overload)\b/.test(line)) return true
  }
  return false
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
