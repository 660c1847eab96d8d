import type { Segment } from './voice-activity.ts'

export interface Window extends Segment {
  /** True if the window overlaps the previous one. */
  readonly overlaps: boolean
}

/**
 * Cuts speech into windows of at most `size` samples. Consecutive segments share a window if they fit. A longer segment
 * is cut with an overlap, so that a word at the edge is complete in one window.
 */
export function windowsOf(segments: readonly Segment[], size: number, overlap: number): readonly Window[] {
  const windows: Window[] = []
  for (const { start, end } of segments) {
    const last = windows.at(-1)
    if (last !== undefined && end - last.start <= size) {
      windows[windows.length - 1] = { ...last, end }
      continue
    }
    let at = start
    for (; end - at > size; at += size - overlap) windows.push({ start: at, end: at + size, overlaps: at > start })
    windows.push({ start: at, end, overlaps: at > start })
  }
  return windows
}

/** Maximum number of words that two windows can share; more than fit into the longest overlap. */
const COMMON_WORDS = 16

/** Appends the text of the next window. Words in the overlap appear only once. */
export function joined(text: string, next: string, overlaps: boolean): string {
  if (text === '' || next === '') return text + next
  const [before, after] = [text.split(/\s+/), next.split(/\s+/)]
  const maxCommon = overlaps ? Math.min(COMMON_WORDS, before.length, after.length) : 0
  for (let count = maxCommon; count > 0; count--) {
    const same = after.slice(0, count).every((word, at) => {
      const spoken = plain(word)
      return spoken !== '' && spoken === plain(before[before.length - count + at] as string)
    })
    if (same) return [text, ...after.slice(count)].join(' ')
  }
  return `${text} ${next}`
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
}
