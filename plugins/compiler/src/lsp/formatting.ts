import type { Range, TextEdit } from 'vscode-languageserver'
import { formatFile } from '../compile.ts'
import { SourceFile } from '../source-file.ts'
import type { Analysis } from './analysis.ts'
import { changedLines } from './changed-lines.ts'

/** Returns the edit that formats the file; none if the file is formatted or has syntax errors. */
export function formattingEdits(analysis: Analysis): TextEdit[] {
  const { text } = analysis
  const { text: formatted } = formatFile(new SourceFile(analysis.document.uri, text))
  if (formatted === null || formatted === text) return []
  // The edit excludes the common prefix and suffix, so that editors preserve the cursor.
  let start = 0
  while (start < text.length && start < formatted.length && text[start] === formatted[start]) start++
  let end = text.length
  let until = formatted.length
  while (end > start && until > start && text[end - 1] === formatted[until - 1]) {
    end--
    until--
  }
  // An edit must not begin or end inside a line break or a surrogate pair.
  if (text[end - 1] === '\r' && text[end] === '\n') {
    end++
    until++
  }
  if (isHalf(text, start)) start--
  if (isHalf(text, end)) {
    end++
    until++
  }
  return [{ range: analysis.range({ start, end }), newText: formatted.slice(start, until) }]
}

/** Returns the edits that format the lines of a range. An edit changes whole lines. */
export function rangeFormattingEdits(analysis: Analysis, { start, end }: Range): TextEdit[] {
  const { text, document } = analysis
  const { text: formatted } = formatFile(new SourceFile(document.uri, text))
  if (formatted === null || formatted === text) return []
  // A range that ends at the start of a line does not contain that line.
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line
  return changedLines(text, formatted)
    .filter(change => change.from <= last && Math.max(change.from, change.until - 1) >= start.line)
    .map(({ from, until, replacement }) => ({
      range: { start: { line: from, character: 0 }, end: { line: until, character: 0 } },
      newText: replacement
    }))
}

/** True if an offset is inside a surrogate pair. */
function isHalf(text: string, offset: number): boolean {
  return (text.charCodeAt(offset - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(offset) & 0xfc00) === 0xdc00
}
