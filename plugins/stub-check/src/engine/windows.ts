import type { SourceFile } from './source-file.ts'

/** Lines of code that two places must share to count as duplicated. */
export const WINDOW_LINES = 10
/** Characters that the lines of a window must have, without white space. */
const MIN_CHARACTERS = 220
/** Of this many windows in a row, the one with the smallest hash is kept: two equal runs of lines keep the same one. */
const WINNOW = 6
const MAX_WINDOWS = 4_000

/** Returns hashes and first lines of runs of code lines, alternating: hash, line, hash, line. */
export function windowsOf(file: SourceFile): Float64Array {
  const hashes: number[] = []
  const lines: number[] = []
  const lengths: number[] = []
  let line = 0
  for (const raw of file.views.source.split('\n')) {
    line += 1
    const own = raw.trim()
    // Imports and closing brackets are alike everywhere.
    if (own.length < 2 || /^(?:import|from|use|export \*|export \{|#include|\/\/|[)\]}]+[;,)]*$)/.test(own)) continue
    hashes.push(hashOf(own))
    lines.push(line)
    lengths.push(own.length)
  }
  const windows: number[] = []
  for (let at = 0; at + WINDOW_LINES <= hashes.length; at++) {
    let hash = 17
    let characters = 0
    for (let next = at; next < at + WINDOW_LINES; next++) {
      hash = (Math.imul(hash, 31) + (hashes[next] as number)) | 0
      characters += lengths[next] as number
    }
    windows.push(
      characters < MIN_CHARACTERS
        ? Number.POSITIVE_INFINITY
        : (hash >>> 0) * 1_048_576 + ((hashes[at] as number) & 0xfffff)
    )
  }
  const kept: number[] = []
  let last = -1
  for (let at = 0; at + WINNOW <= windows.length && kept.length < 2 * MAX_WINDOWS; at++) {
    let least = at
    for (let next = at + 1; next < at + WINNOW; next++)
      if ((windows[next] as number) <= (windows[least] as number)) least = next
    if (least === last || windows[least] === Number.POSITIVE_INFINITY) continue
    last = least
    kept.push(windows[least] as number, lines[least] as number)
  }
  if (windows.length > 0 && windows.length < WINNOW && windows[0] !== Number.POSITIVE_INFINITY)
    kept.push(windows[0] as number, lines[0] as number)
  return Float64Array.from(kept)
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash | 0
}
