import { distance } from 'fastest-levenshtein'

/** The candidate that a mistyped name most likely means; undefined when none is near. */
export function closest(name: string, candidates: Iterable<string>, limit = 3): string | undefined {
  const reach = Math.min(limit, Math.ceil(name.length / 2))
  let best: { readonly candidate: string; readonly steps: number } | undefined
  for (const candidate of candidates) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase())
    if (steps <= reach && steps < (best?.steps ?? Number.POSITIVE_INFINITY)) best = { candidate, steps }
  }
  return best?.candidate
}

export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  const found = closest(name, candidates)
  return found === undefined ? undefined : `did you mean "${found}"?`
}
