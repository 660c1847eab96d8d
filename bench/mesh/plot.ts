import type { Figure } from '../figures.ts'
import { DARK_STYLE } from '../plot.ts'

export interface PlotPoint {
  readonly x: number
  readonly y: Figure
}

export interface PlotSeries {
  readonly name: string
  readonly color: string
  readonly points: readonly PlotPoint[]
}

export interface PlotOptions {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  readonly series: readonly PlotSeries[]
  /** Horizontal line, such as a budget. */
  readonly line?: { readonly y: number; readonly name: string }
}

const WIDTH = 640
const HEIGHT = 360
const LEFT = 70
const RIGHT = 20
const TOP = 60
const BOTTOM = 50

/** Draws series with their ranges over logarithmic axes, as SVG. */
export function logPlot({ title, xLabel, yLabel, series, line }: PlotOptions): string {
  const points = series.flatMap(each => each.points)
  const x = axis(
    points.map(point => point.x),
    LEFT,
    WIDTH - RIGHT
  )
  const values = points.flatMap(({ y: { min, median, max } }) => [min, median, max])
  const y = axis([...values, ...(line === undefined ? [] : [line.y])], HEIGHT - BOTTOM, TOP)
  const parts = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(LEFT, 22, title, 'font-weight="bold"'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, xLabel, 'text-anchor="middle"'),
    text(
      16,
      (TOP + HEIGHT - BOTTOM) / 2,
      yLabel,
      `text-anchor="middle" transform="rotate(-90 16 ${(TOP + HEIGHT - BOTTOM) / 2})"`
    )
  ]
  for (const tick of x.ticks) {
    parts.push(segment(x.at(tick), TOP, x.at(tick), HEIGHT - BOTTOM, '#e4e4e4'))
    parts.push(text(x.at(tick), HEIGHT - BOTTOM + 16, tickText(tick), 'text-anchor="middle"'))
  }
  for (const tick of y.ticks) {
    parts.push(segment(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick), '#e4e4e4'))
    parts.push(text(LEFT - 8, y.at(tick) + 4, tickText(tick), 'text-anchor="end"'))
  }
  if (line !== undefined) {
    parts.push(segment(LEFT, y.at(line.y), WIDTH - RIGHT, y.at(line.y), '#666666', 'stroke-dasharray="5 4"'))
    parts.push(text(WIDTH - RIGHT - 4, y.at(line.y) - 5, line.name, 'text-anchor="end"'))
  }
  for (const [index, { name, color, points }] of series.entries()) {
    const path = points.map(point => `${round(x.at(point.x))},${round(y.at(point.y.median))}`).join(' ')
    parts.push(`<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`)
    for (const point of points) {
      const [px, low, high] = [x.at(point.x), y.at(point.y.min), y.at(point.y.max)]
      parts.push(segment(px, low, px, high, color))
      parts.push(`<circle cx="${round(px)}" cy="${round(y.at(point.y.median))}" r="3.5" fill="${color}"/>`)
    }
    const at = LEFT + index * 180
    parts.push(`<rect x="${at}" y="34" width="12" height="12" fill="${color}"/>`, text(at + 18, 44, name))
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(described(xLabel, yLabel, series))}</desc>`,
    DARK_STYLE,
    ...parts,
    '</svg>',
    ''
  ].join('\n')
}

/** Returns the medians as text, for readers who cannot see the plot. */
function described(xLabel: string, yLabel: string, series: readonly PlotSeries[]): string {
  const lines = series.map(
    ({ name, points }) => `${name}: ${points.map(({ x, y }) => `${x}: ${Number(y.median.toPrecision(3))}`).join(', ')}`
  )
  return `${yLabel} by ${xLabel}. ${lines.join('. ')}.`
}

interface Axis {
  readonly ticks: readonly number[]
  at(value: number): number
}

/** Logarithmic axis over whole powers of ten. Values of 0 or less are drawn at its start. */
function axis(values: readonly number[], from: number, to: number): Axis {
  const positive = values.filter(value => value > 0)
  const first = Math.floor(Math.log10(Math.min(...positive)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...positive))))
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)),
    at: value => from + ((Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)) * (to - from)
  }
}

function tickText(value: number): string {
  return value >= 1 ? value.toLocaleString('en') : String(Number(value.toPrecision(1)))
}

function text(x: number, y: number, content: string, more = ''): string {
  return `<text x="${round(x)}" y="${round(y)}" fill="#222222" ${more}>${escaped(content)}</text>`
}

function segment(x1: number, y1: number, x2: number, y2: number, color: string, more = ''): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${color}" ${more}/>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
