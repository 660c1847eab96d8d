import type { NodeName } from './ledger.ts'
import type { Sample } from './samples.ts'

/** A part of the run, which is shaded. */
export interface PlottedPhase {
  readonly name: string
  readonly from: number
  readonly to: number
}

export interface PlottedEvent {
  readonly time: number
  readonly kind: string
}

/** Number of requests by outcome since the start. */
export interface Totals {
  readonly time: number
  readonly ok: number
  readonly refused: number
  readonly excused: number
}

export interface SoakPlot {
  readonly from: number
  readonly to: number
  readonly phases: readonly PlottedPhase[]
  readonly events: readonly PlottedEvent[]
  readonly samples: readonly Sample[]
  readonly totals: readonly Totals[]
}

interface Series {
  readonly colour: string
  /** Points in time order; null ends a line, as the end of a process does. */
  readonly points: readonly (readonly [time: number, value: number] | null)[]
}

const WIDTH = 900
const LEFT = 60
const RIGHT = 20
const PANEL = 120
const GAP = 46
const TOP = 92
const MIB = 1024 * 1024
const NODE_COLOURS: Readonly<Record<NodeName, string>> = { one: '#3a6ea5', two: '#c2571a' }
const EVENT_COLOURS: readonly (readonly [beginning: string, colour: string, name: string])[] = [
  ['kill -9', '#b3261e', 'kill'],
  ['SIGTERM', '#b3261e', 'kill'],
  ['isolated process killed', '#8e44ad', 'plugin killed'],
  ['disk full', '#d39e00', 'disk full'],
  ['network:', '#3a6ea5', 'network cut'],
  ['settings changed', '#3f8f5b', 'settings'],
  ['reload', '#9aa5b1', 'reload']
]
const STYLE =
  '<style>@media (prefers-color-scheme: dark) { text { fill: #e4e7eb } rect[fill="#ffffff"] { fill: #1b1f24 } rect[fill="#eef2f6"] { fill: #26303a } line[stroke="#e4e4e4"] { stroke: #3e4c59 } }</style>'

/** Draws memory, handles, requests and database files over time, with the faults, as SVG. */
export function soakPlot(plot: SoakPlot): string {
  const { from, to, samples, totals } = plot
  const panels: readonly (readonly [title: string, series: readonly Series[]])[] = [
    ['Memory of the process (RSS), MiB', byNode(samples, ({ rss }) => rss / MIB)],
    ['Open handles', byNode(samples, ({ handles }) => handles)],
    ['Requests per minute: answered, and in red failed because of a fault', rates(totals)],
    ['Database with its log, MiB', byNode(samples, databaseMiB)]
  ]
  const height = TOP + panels.length * (PANEL + GAP)
  const x = (time: number): number => LEFT + ((time - from) / (to - from)) * (WIDTH - LEFT - RIGHT)
  const bottom = height - GAP
  const parts = [`<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`]
  for (const phase of plot.phases) {
    if (phase.name === 'load only')
      parts.push(
        `<rect x="${x(phase.from).toFixed(1)}" y="${TOP - 12}" width="${(x(phase.to) - x(phase.from)).toFixed(1)}" height="${bottom - TOP + 12}" fill="#eef2f6"/>`
      )
    parts.push(text((x(phase.from) + x(phase.to)) / 2, TOP - 34, phase.name, 'text-anchor="middle"'))
  }
  parts.push(...legend(), ...ticks(plot.events, x))
  for (const [index, [title, series]] of panels.entries())
    parts.push(...panel(title, series, TOP + index * (PANEL + GAP), x))
  const minutes = (to - from) / 60_000
  const step = minutes > 60 ? 15 : minutes > 20 ? 5 : 1
  for (let minute = 0; minute <= minutes; minute += step)
    parts.push(text(x(from + minute * 60_000), height - GAP + 16, `${minute}`, 'text-anchor="middle"'))
  parts.push(text(WIDTH / 2, height - 10, 'minutes', 'text-anchor="middle"'))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img" aria-labelledby="title description">
<title id="title">A soak of ${Math.round(minutes)} minutes: memory, handles, requests and database size of two nodes over time, with the faults</title>
<desc id="description">Four charts over minutes: memory, open handles, requests per minute and database size. Marks at the top are faults; the part with load only is shaded. Summary and tables are in docs/soak.md.</desc>
${STYLE}
${parts.join('\n')}
</svg>
`
}

/** One line for each node, which is interrupted where a process ends. */
function byNode(samples: readonly Sample[], value: (sample: Sample) => number | null): Series[] {
  return (['one', 'two'] as const).map(node => {
    const points: Series['points'][number][] = []
    let pid = 0
    for (const sample of samples) {
      const found = sample.node === node ? value(sample) : null
      if (found === null) continue
      if (sample.pid !== pid) points.push(null)
      pid = sample.pid
      points.push([sample.time, found])
    }
    return { colour: NODE_COLOURS[node], points }
  })
}

function databaseMiB({ files }: Sample): number | null {
  if (files === null) return null
  return ((files['.vox/store.db'] ?? 0) + (files['.vox/store.db-wal'] ?? 0)) / MIB
}

/** Requests per minute, over the time between two samples. */
function rates(totals: readonly Totals[]): Series[] {
  const rate = (value: (each: Totals) => number): Series['points'] =>
    totals.slice(6).map((each, index) => {
      const before = totals[index] as Totals
      return [each.time, ((value(each) - value(before)) / (each.time - before.time)) * 60_000] as const
    })
  return [
    { colour: '#3f8f5b', points: rate(({ ok, refused }) => ok + refused) },
    { colour: '#b3261e', points: rate(({ excused }) => excused) }
  ]
}

function panel(title: string, series: readonly Series[], top: number, x: (time: number) => number): string[] {
  const values = series.flatMap(({ points }) => points.flatMap(point => (point === null ? [] : [point[1]])))
  const step = stepOf(Math.max(1, ...values))
  const max = Math.ceil(Math.max(1, ...values) / step) * step
  const y = (value: number): number => top + PANEL - (value / max) * PANEL
  const parts = [text(LEFT, top - 6, title, 'font-weight="bold"')]
  for (let value = 0; value <= max; value += step) {
    parts.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" stroke="#e4e4e4"/>`
    )
    parts.push(text(LEFT - 6, y(value) + 4, String(value), 'text-anchor="end"'))
  }
  for (const { colour, points } of series) {
    let path = ''
    let isOpen = false
    for (const point of points) {
      if (point !== null) path += `${isOpen ? 'L' : 'M'}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`
      isOpen = point !== null
    }
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`)
  }
  return parts
}

/** Returns a distance between grid lines, of which at most five are shown. */
function stepOf(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max / 4))
  return ([1, 2, 5, 10].map(factor => factor * power).find(step => max / step <= 4) as number) || 1
}

function legend(): string[] {
  const parts = [
    text(LEFT, 20, '● node one', `fill="${NODE_COLOURS.one}"`),
    text(LEFT + 90, 20, '● node two', `fill="${NODE_COLOURS.two}"`)
  ]
  const kinds = EVENT_COLOURS.filter(([, , name], index, all) => all.findIndex(each => each[2] === name) === index)
  for (const [index, [, colour, name]] of kinds.entries())
    parts.push(text(LEFT + 200 + index * 108, 20, `┃ ${name}`, `fill="${colour}"`))
  return parts
}

function ticks(events: readonly PlottedEvent[], x: (time: number) => number): string[] {
  return events.flatMap(({ time, kind }) => {
    const colour = EVENT_COLOURS.find(([beginning]) => kind.startsWith(beginning))?.[1]
    if (colour === undefined) return []
    return [`<rect x="${(x(time) - 1).toFixed(1)}" y="${TOP - 28}" width="2" height="10" fill="${colour}"/>`]
  })
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content}</text>`
}
