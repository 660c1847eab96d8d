/**
 * A document with optional line breaks. A group is printed on one line if it fits, else with all of its breaks (Wadler,
 * "A prettier printer", 2003).
 */
export type Doc = string | readonly Doc[] | Line | Indent | Group | Suffix

interface Line {
  readonly type: 'line'
  /** Form on one line: a space, a comma with a space, nothing, or null for a forced break. */
  readonly flat: ' ' | ', ' | '' | null
}

interface Indent {
  readonly type: 'indent'
  readonly content: Doc
}

interface Group {
  readonly type: 'group'
  readonly content: Doc
  /** True if its content contains a forced break. */
  readonly isBroken: boolean
}

/** Printed at the end of the current line; the enclosing group is broken. */
interface Suffix {
  readonly type: 'suffix'
  readonly text: string
}

export const line: Line = { type: 'line', flat: ' ' }
export const softline: Line = { type: 'line', flat: '' }
/** A comma between items on one line, and only a break between items on several. */
export const commaLine: Line = { type: 'line', flat: ', ' }
export const hardline: Line = { type: 'line', flat: null }

export const indent = (content: Doc): Indent => ({ type: 'indent', content })
export const group = (content: Doc): Group => ({ type: 'group', content, isBroken: mustBreak(content) })
export const suffix = (text: string): Suffix => ({ type: 'suffix', text })

export function join(separator: Doc, parts: readonly Doc[]): Doc[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]))
}

/** True if a document contains a forced break. */
export function mustBreak(doc: Doc): boolean {
  if (typeof doc === 'string') return false
  if (isList(doc)) return doc.some(mustBreak)
  if (doc.type === 'line') return doc.flat === null
  if (doc.type === 'group') return doc.isBroken
  return doc.type === 'suffix' || mustBreak(doc.content)
}

const WIDTH = 100
const STEP = 4

interface Task {
  readonly depth: number
  readonly isFlat: boolean
  readonly doc: Doc
}

/** Prints a document in lines of at most 100 characters where possible, indented by `step` spaces. */
export function layout(doc: Doc, step = STEP): string {
  const out: string[] = []
  const tasks: Task[] = [{ depth: 0, isFlat: false, doc }]
  let suffixes: string[] = []
  let column = 0
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    const { depth, isFlat, doc: current } = task
    if (typeof current === 'string') {
      out.push(current)
      const lastBreak = current.lastIndexOf('\n')
      column = lastBreak === -1 ? column + current.length : current.length - lastBreak - 1
    } else if (isList(current)) {
      for (let index = current.length - 1; index >= 0; index--) {
        tasks.push({ depth, isFlat, doc: current[index] as Doc })
      }
    } else if (current.type === 'indent') tasks.push({ depth: depth + 1, isFlat, doc: current.content })
    else if (current.type === 'suffix') suffixes.push(current.text)
    else if (current.type === 'group') {
      const onOneLine = !current.isBroken && fits({ depth, isFlat: true, doc: current.content }, tasks, WIDTH - column)
      tasks.push({ depth, isFlat: onOneLine, doc: current.content })
    } else if (isFlat && current.flat !== null) {
      out.push(current.flat)
      column += current.flat.length
    } else {
      trimEnd(out)
      for (const text of suffixes) out.push(text)
      suffixes = []
      out.push('\n', ' '.repeat(depth * step))
      column = depth * step
    }
  }
  for (const text of suffixes) out.push(text)
  trimEnd(out)
  return out.join('')
}

/** True if `task` and what follows it up to the next break fit into `width` characters. */
function fits(task: Task, rest: readonly Task[], width: number): boolean {
  const tasks = [task]
  let left = width
  let next = rest.length
  while (left >= 0) {
    const current = tasks.pop() ?? rest[--next]
    if (current === undefined) return true
    const { depth, isFlat, doc } = current
    if (typeof doc === 'string') {
      const lineBreak = doc.indexOf('\n')
      left -= lineBreak === -1 ? doc.length : lineBreak
      if (lineBreak !== -1) return left >= 0
    } else if (isList(doc)) {
      for (let index = doc.length - 1; index >= 0; index--) tasks.push({ depth, isFlat, doc: doc[index] as Doc })
    } else if (doc.type === 'indent') tasks.push({ depth, isFlat, doc: doc.content })
    else if (doc.type === 'group') tasks.push({ depth, isFlat: isFlat && !doc.isBroken, doc: doc.content })
    else if (doc.type === 'line') {
      if (!isFlat || doc.flat === null) return true
      left -= doc.flat.length
    }
  }
  return false
}

/** Removes trailing spaces from the output. */
function trimEnd(out: string[]): void {
  while (out.length > 0) {
    const last = out.at(-1) as string
    const trimmed = last.replace(/ +$/, '')
    if (trimmed === last) return
    out.pop()
    if (trimmed !== '') out.push(trimmed)
    else if (last === '') return
  }
}

function isList(doc: Exclude<Doc, string>): doc is readonly Doc[] {
  return Array.isArray(doc)
}
