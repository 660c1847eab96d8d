/** Plots of benchmarks as SVG: bars with median and range, goals, and texts for readers who cannot see them. */
import { type Figure, withRange } from './figures.ts'
import type { Comparison, Measured } from './results.ts'

/** Makes plots that use these colours readable in dark mode. */
export const DARK_STYLE =
  '<style>@media (prefers-color-scheme: dark) { text { fill: #e4e7eb } rect[fill="#ffffff"] { fill: #1b1f24 } line[stroke="#e4e4e4"] { stroke: #3e4c59 } .range { stroke: #f5f7fa } }</style>'
const WIDTH = 900
const ROW = 26
const TOP = 58
const LABELS = 430
const VALUES = 170
const MAX_LABEL = 68
const COLOURS = { reached: '#3f8f5b', missed: '#c2571a', ours: '#3a6ea5', peer: '#8d99a6' } as const
/** Ticks of the distance to a goal; bars beyond the outer ones are cut. */
const TICKS = [0.1, 0.25, 0.5, 1, 2, 4, 10, 40]

interface Bar {
  readonly label: string
  readonly value: string
  readonly colour: string
  /** Positions on the axis, of 0 to 1. */
  readonly from: number
  readonly to: number
  readonly range: readonly [number, number] | null
}

/** Draws how far each figure is from its goal, on a logarithmic axis. Figures without a goal are left out. */
export function goalPlot(title: string, figures: readonly Measured[]): string {
  const rows = figures.flatMap(figure => {
    const distance = goalDistance(figure)
    return distance === null ? [] : [{ figure, distance }]
  })
  const reached = rows.map(({ distance }) => distance.median)
  const lowest = TICKS.findLast(tick => tick <= Math.min(0.5, ...reached)) ?? (TICKS[0] as number)
  const highest = TICKS.find(tick => tick >= Math.max(2, ...reached)) ?? (TICKS.at(-1) as number)
  const at = (ratio: number) => Math.log(clamped(ratio, lowest, highest) / lowest) / Math.log(highest / lowest)
  const bars = rows.map(({ figure, distance }): Bar => {
    const value = `${withRange({ ...figure.value, min: figure.value.median, max: figure.value.median })}${spaced(figure.unit)}`
    return {
      label: figure.what,
      value: `${value} (goal ${figure.atLeast ? '≥' : '≤'} ${figure.goal}${spaced(figure.unit)})`,
      colour: distance.median >= 1 ? COLOURS.reached : COLOURS.missed,
      from: at(1),
      to: at(distance.median),
      range: distance.min === distance.max ? null : [at(distance.min), at(distance.max)]
    }
  })
  const ticks = TICKS.filter(tick => tick >= lowest && tick <= highest).map(tick => ({
    at: at(tick),
    text: tick === 1 ? 'goal' : `${tick < 1 ? 1 / tick : tick}x`
  }))
  return drawing(title, 'Bars to the right of the goal are better than it, bars to the left are worse.', bars, ticks)
}

/** Draws values of programs that do the same work, from zero. The bars of svc have another colour. */
export function comparisonPlot({ title, unit, bars }: Comparison): string {
  const highest = Math.max(...bars.map(({ value }) => value.max))
  const rows = bars.map(
    ({ name, value }): Bar => ({
      label: name,
      value: withRange(value),
      colour: name.startsWith('svc') ? COLOURS.ours : COLOURS.peer,
      from: 0,
      to: value.median / highest,
      range: value.min === value.max ? null : [value.min / highest, value.max / highest]
    })
  )
  return drawing(title, `${unit}. Longer bars are better.`, rows, [{ at: 0, text: '0' }])
}

/** Returns how many times better than its goal a figure is; null without a goal, or where a ratio has no meaning. */
function goalDistance({ value, goal, atLeast }: Measured): Figure | null {
  if (goal === null || goal <= 0 || value.median <= 0) return null
  if (atLeast) return { median: value.median / goal, min: value.min / goal, max: value.max / goal }
  const least = goal / value.max
  return { median: goal / value.median, min: least, max: value.min > 0 ? goal / value.min : Number.POSITIVE_INFINITY }
}

function drawing(
  title: string,
  note: string,
  bars: readonly Bar[],
  ticks: readonly { readonly at: number; readonly text: string }[]
): string {
  const height = TOP + bars.length * ROW + 14
  const x = (share: number) => Math.round((LABELS + share * (WIDTH - LABELS - VALUES - 20)) * 10) / 10
  const parts = [
    `<rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>`,
    text(14, 22, title, 'font-weight="bold" font-size="14"'),
    text(14, 40, note, 'font-size="11"'),
    ...ticks.flatMap(tick => [
      `<line x1="${x(tick.at)}" y1="${TOP - 4}" x2="${x(tick.at)}" y2="${height - 8}" stroke="${tick.text === 'goal' ? '#7b8794' : '#e4e4e4'}"/>`,
      text(x(tick.at), TOP - 8, tick.text, 'text-anchor="middle" font-size="11"')
    ]),
    ...bars.flatMap((bar, row) => rowOf(bar, TOP + row * ROW, x))
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2933" role="img">
<title>${escaped(title)}</title>
<desc>${escaped(`${note} ${bars.map(({ label, value }) => `${label}: ${value}.`).join(' ')}`)}</desc>
${DARK_STYLE}
${parts.join('\n')}
</svg>
`
}

function rowOf({ label, value, colour, from, to, range }: Bar, top: number, x: (share: number) => number): string[] {
  const [left, right] = [x(Math.min(from, to)), x(Math.max(from, to))]
  const middle = top + ROW / 2
  const name = label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label
  return [
    text(LABELS - 10, middle + 4, name, 'text-anchor="end" font-size="11"'),
    `<rect x="${left}" y="${top + 5}" width="${Math.max(1, right - left).toFixed(1)}" height="${ROW - 10}" fill="${colour}"/>`,
    ...(range === null
      ? []
      : [
          `<line class="range" x1="${x(range[0])}" y1="${middle}" x2="${x(range[1])}" y2="${middle}" stroke="#1f2933" stroke-width="1.5"/>`
        ]),
    text(WIDTH - VALUES, middle + 4, value, 'font-size="11"')
  ]
}

function clamped(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

function spaced(unit: string): string {
  return unit === '' || unit === 'x' ? unit : ` ${unit}`
}

function text(x: number, y: number, content: string, more: string): string {
  return `<text x="${x}" y="${y}" ${more}>${escaped(content)}</text>`
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
