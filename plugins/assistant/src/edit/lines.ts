const FENCE = /^[ \t]*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^[ \t]*\1[ \t]*$/gm

/** Returns the text of an answer that replaces lines: its longest block, else the whole answer. Keeps indentation. */
export function replacementOf(answer: string): string {
  const text = answer.replaceAll('\r\n', '\n')
  const blocks = [...text.matchAll(FENCE)].map(([, , body = '']) => body)
  const body = blocks.toSorted((a, b) => b.length - a.length)[0] ?? text
  return body === '' || body.endsWith('\n') ? body : `${body}\n`
}

/** A text in three parts. `selected` consists of whole lines. */
export interface Selection {
  readonly before: string
  readonly selected: string
  readonly after: string
  /** First and last selected line, counted from 1. */
  readonly start: number
  readonly end: number
}

/** Splits a text at lines. Returns null if the lines are outside of the text, or in the wrong order. */
export function select(text: string, start = 1, end?: number): Selection | null {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const last = end ?? lines.length
  if (start > lines.length || last > lines.length || start > last) return null
  return {
    before: lines.slice(0, start - 1).join(''),
    selected: lines.slice(start - 1, last).join(''),
    after: lines.slice(last).join(''),
    start,
    end: last
  }
}

/** Returns the text with the replacement. The line end of the last line stays as it was. */
export function replaced({ before, selected, after }: Selection, replacement: string): string {
  const isOpen = after === '' && selected !== '' && !selected.endsWith('\n')
  return before + (isOpen ? replacement.replace(/\n$/, '') : replacement) + after
}

/** Returns a unified diff of two texts that differ in one place, without context; '' if they are equal. */
export function diffOf(path: string, old: string, now: string): string {
  if (old === now) return ''
  const [from, to] = [linesOf(old), linesOf(now)]
  let head = 0
  while (head < from.length && head < to.length && from[head] === to[head]) head++
  let tail = 0
  while (
    tail < from.length - head &&
    tail < to.length - head &&
    from[from.length - 1 - tail] === to[to.length - 1 - tail]
  )
    tail++
  const removed = from.slice(head, from.length - tail)
  const added = to.slice(head, to.length - tail)
  const range = (count: number): string => `${count === 0 ? head : head + 1},${count}`
  const shown = (sign: string, line: string): string =>
    `${sign}${line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`}`
  return [
    `--- a/${path}\n+++ b/${path}\n@@ -${range(removed.length)} +${range(added.length)} @@\n`,
    ...removed.map(line => shown('-', line)),
    ...added.map(line => shown('+', line))
  ].join('')
}

function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}
