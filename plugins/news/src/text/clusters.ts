/** Made on first use, since that takes milliseconds. */
let segmenter: Intl.Segmenter | undefined
/** Code units that are segmented at once. The iterator of V8 takes time proportional to the whole text for each step. */
const WINDOW = 256

export interface Cluster {
  /** Position in code units. */
  readonly index: number
  readonly segment: string
}

/** Yields the grapheme clusters of a text. Lazy, in linear time. */
export function* clustersOf(text: string): Generator<Cluster, undefined> {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' })
  let window = WINDOW
  for (let from = 0; from < text.length; ) {
    const end = windowEnd(text, from + window)
    const part = text.slice(from, end)
    let last: Cluster | undefined
    for (const { index, segment } of segmenter.segment(part)) {
      if (last !== undefined) yield last
      last = { index: from + index, segment }
    }
    if (last === undefined) return
    if (end === text.length) {
      yield last
      return
    }
    // The last cluster may continue: the next window begins with it, and is larger if there was no other one.
    window = last.index === from ? window * 2 : WINDOW
    from = last.index
  }
}

/** Returns the number of grapheme clusters. */
export function clusterCount(text: string): number {
  let count = 0
  for (const _ of clustersOf(text)) count++
  return count
}

function windowEnd(text: string, end: number): number {
  if (end >= text.length) return text.length
  const isPair = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end))
  return isPair ? end + 1 : end
}
