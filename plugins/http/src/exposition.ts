/**
 * Joins several outputs in the Prometheus text format (https://prometheus.io/docs/instrumenting/exposition_formats/). A
 * scrape fails unless all lines of a metric are adjacent and every series is unique. So families with the same name are
 * merged; the first HELP, TYPE and value of a series win.
 */
export function joinExpositions(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const text of texts) collect(text, families)
  let joined = ''
  for (const { comments, samples } of families.values()) {
    for (const comment of comments.values()) joined += `${comment}\n`
    for (const sample of samples.values()) joined += `${sample}\n`
  }
  return joined
}

interface Family {
  /** The `HELP` and `TYPE` lines. */
  readonly comments: Map<string, string>
  /** Lines by name and labels. */
  readonly samples: Map<string, string>
}

const COMMENT = /^# (HELP|TYPE) ([A-Za-z_:][\w:]*)/
const SAMPLE = /^([A-Za-z_:][\w:]*)\s*(\{.*\})?\s+(?:[+-]?[\d.]|NaN|[+-]?Inf)/

function collect(text: string, families: Map<string, Family>): void {
  let current: string | undefined
  for (const line of text.split('\n')) {
    const comment = COMMENT.exec(line)
    if (comment !== null) {
      const [, kind, name] = comment as unknown as [string, string, string]
      current = name
      const { comments } = familyOf(name, families)
      if (!comments.has(kind)) comments.set(kind, line)
      continue
    }
    const sample = SAMPLE.exec(line)
    if (sample === null) continue
    const [, name, labels = ''] = sample as unknown as [string, string, string | undefined]
    const family = current !== undefined && belongs(name, current) ? current : name
    const { samples } = familyOf(family, families)
    if (!samples.has(name + labels)) samples.set(name + labels, line)
  }
}

/** Returns whether a sample belongs to a family. Its name may have a suffix, as in histograms. */
function belongs(sample: string, family: string): boolean {
  return sample.startsWith(family) && /^(_bucket|_sum|_count|_total|_created)?$/.test(sample.slice(family.length))
}

function familyOf(name: string, families: Map<string, Family>): Family {
  let family = families.get(name)
  if (family === undefined) {
    family = { comments: new Map(), samples: new Map() }
    families.set(name, family)
  }
  return family
}
