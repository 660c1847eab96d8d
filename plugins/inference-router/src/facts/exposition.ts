/** A sample of the Prometheus text format: labels as text, and the value. */
export interface Sample {
  readonly labels: string
  readonly value: number
}

/**
 * Returns the samples of some metrics from a text in the Prometheus text format, by metric. Lines of other metrics are
 * skipped, invalid lines as well.
 */
export function readSamples(text: string, names: readonly string[]): ReadonlyMap<string, readonly Sample[]> {
  const found = new Map<string, Sample[]>(names.map(name => [name, []]))
  let at = 0
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    // Most lines are comments or buckets of histograms.
    if (text.charCodeAt(at) !== 35) take(text.slice(at, end), found)
    at = end + 1
  }
  return found
}

const LINE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)/

function take(line: string, found: ReadonlyMap<string, Sample[]>): void {
  const end = line.search(/[{\s]/)
  const samples = end < 0 ? undefined : found.get(line.slice(0, end))
  if (samples === undefined) return
  const match = LINE.exec(line)
  const value = Number(match?.[3])
  if (match !== null && Number.isFinite(value)) samples.push({ labels: match[2] ?? '', value })
}

/** Returns the sum of the samples of a metric; null without a sample. */
export function total(samples: ReadonlyMap<string, readonly Sample[]>, name: string): number | null {
  const all = samples.get(name) ?? []
  return all.length === 0 ? null : all.reduce((sum, { value }) => sum + value, 0)
}

/** Returns the value of a label, unescaped; undefined if the sample does not have it. */
export function labelOf({ labels }: Sample, name: string): string | undefined {
  const match = new RegExp(`(?:^|,)\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)
  return match?.[1]?.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
}
