/** Labels that stay in the names of series. Values of others may be ids or paths; their series are added up. */
const LABELS: ReadonlySet<string> = new Set([
  'plugin',
  'model',
  'result',
  'outcome',
  'state',
  'kind',
  'device',
  'queue'
])
/** Maximum length of a label's value. */
const MAX_VALUE = 64

/** A metric of a text in the Prometheus format. */
export interface ExposedValue {
  /** Name with the labels that stay, such as `svc_otlp_spans_total{result=sent}`. */
  readonly series: string
  readonly isCounter: boolean
  readonly value: number
}

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+([+-]?[\d.][\d.eE+-]*)(?:\s+\d+)?$/
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g
const TYPE = /^# TYPE ([A-Za-z_:][\w:]*) (\w+)/

/** Reads the counters and gauges of a text; of a histogram, its count and its sum. */
export function exposedValues(text: string): ExposedValue[] {
  const types = new Map<string, string>()
  const values = new Map<string, { readonly isCounter: boolean; value: number }>()
  for (const line of text.split('\n')) {
    const [, typed, type = ''] = TYPE.exec(line) ?? []
    if (typed !== undefined) types.set(typed, type)
    const [, name, labels = '', number] = line.startsWith('#') ? [] : (SAMPLE.exec(line) ?? [])
    if (name === undefined || name.endsWith('_bucket')) continue
    const family = types.get(name) ?? types.get(name.replace(/_(?:count|sum|total)$/, '')) ?? 'gauge'
    if (labels.includes('quantile=')) continue
    const series = `${name}${kept(labels)}`
    const known = values.get(series)
    if (known === undefined) values.set(series, { isCounter: family !== 'gauge', value: Number(number) })
    else known.value += Number(number)
  }
  return [...values].map(([series, value]) => ({ series, ...value }))
}

function kept(labels: string): string {
  const pairs = [...labels.matchAll(LABEL)]
    .filter(([, name, value = '']) => LABELS.has(name as string) && value !== '' && value.length <= MAX_VALUE)
    .map(([, name, value]) => `${name}=${value}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
