import type { ChartView as Chart } from '@svc/contracts'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { boundInput, valueAt } from '../bindings.ts'
import { dateText, textOf, timeOf } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { theme } from '../state.ts'
import { FilterBar, filterValues } from './filters.tsx'
import type { ViewProps } from './view.tsx'

const HEIGHT = 220
const COLOURS = ['--accent', '--line-2', '--ok', '--text-dim'] as const
/** Shortest axis of time, in seconds. */
const MIN_SPAN_S = 60
/** Factor from the highest value to the end of the axis. */
const HEADROOM = 1.1
const FAILURES = /error|fail/i
/** Width of the axis of values, and the least distance of two times, in pixels. */
const VALUES_WIDTH = 72
const TIME_DISTANCE = 76

/** Lines over time. The last values are text, for readers who cannot see the chart. */
export function ChartView({ view, scope, label }: ViewProps<Chart>) {
  const filters = filterValues(view.filters)
  const source = useSource(view.operation, boundInput(view.input, { ...scope, filters }))
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  const found = valueAt(source.value.value, view.rows)
  const rows = Array.isArray(found) ? found : []
  return (
    <div class="card stack">
      <FilterBar filters={view.filters} />
      {rows.length === 0 ? (
        <Empty>{view.empty ?? 'No values yet.'}</Empty>
      ) : (
        <Lines view={view} rows={rows} label={label} colours={theme.value} />
      )}
    </div>
  )
}

interface LinesProps {
  readonly view: Chart
  readonly rows: readonly unknown[]
  readonly label: string
  readonly colours: string
}

function Lines({ view, rows, label, colours }: LinesProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = dataOf(view, rows)
  useEffect(() => {
    const element = box.current as HTMLDivElement
    const style = getComputedStyle(element)
    const colour = (name: string): string => resolvedColour(style.getPropertyValue(name), colours)
    const line = { stroke: colour('--border'), width: 1 }
    const axis = { stroke: colour('--text-dim'), grid: line, ticks: line, font: `12px ${style.fontFamily}` }
    const format = view.series[0]?.format ?? 'number'
    const created = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        series: [
          { label: 'Time', value: (plot: uPlot, value: number | null) => timeLabel(value ?? plot.data[0].at(-1)) },
          ...view.series.map((series, index) => ({
            label: series.label,
            stroke: colour(FAILURES.test(series.label) ? '--bad' : (COLOURS[index % COLOURS.length] as string)),
            width: 2,
            points: { show: rows.length < 3 },
            // While no point is under the pointer, the legend shows the last values.
            value: (plot: uPlot, value: number | null, at: number, point: number | null) =>
              textOf(point === null ? plot.data[at]?.at(-1) : value, series.format ?? 'number') || '–'
          }))
        ],
        scales: {
          x: { range: (_, min, max) => [Math.min(min, max - MIN_SPAN_S), max] },
          y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * HEADROOM : 1] }
        },
        axes: [
          { ...axis, space: TIME_DISTANCE, values: (_, times) => tickLabels(times) },
          { ...axis, size: VALUES_WIDTH, values: (_, values) => values.map(value => textOf(value, format)) }
        ]
      },
      data,
      element
    )
    plot.current = created
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [view, colours])
  useEffect(() => plot.current?.setData(data), [rows])
  const last = rows.at(-1)
  const summary = view.series
    .map(({ field, label: name, format }) => `${name} ${textOf(valueAt(last, field), format ?? 'number') || 'unknown'}`)
    .join(', ')
  return <div ref={box} class="chart" role="img" aria-label={`${label}: now ${summary}`} />
}

function dataOf(view: Chart, rows: readonly unknown[]): uPlot.AlignedData {
  const points = rows
    .map(row => ({ row, time: timeOf(valueAt(row, view.x)) }))
    .filter((point): point is { row: unknown; time: number } => point.time !== null)
    .sort((a, b) => a.time - b.time)
  const values = view.series.map(({ field }) =>
    points.map(({ row }) => {
      const value = valueAt(row, field)
      return typeof value === 'number' ? value : null
    })
  )
  return [points.map(({ time }) => time / 1_000), ...values] as uPlot.AlignedData
}

/** Ticks that are further apart have no time of day. */
const DAYS_SECONDS = 86_400

/** Returns the texts of the ticks of the axis of time, in Unix seconds. */
function tickLabels(times: readonly number[]): string[] {
  const [first = 0, second = first] = times
  return times.map(time => (second - first >= DAYS_SECONDS ? dateText(time * 1_000) : timeLabel(time)))
}

/** Returns Unix seconds as a time of day. */
function timeLabel(seconds: number | null | undefined): string {
  return typeof seconds === 'number' ? textOf(seconds * 1_000, 'time') : '–'
}

/** Returns the colour of `light-dark(A, B)` for a theme: a canvas does not understand that function. */
function resolvedColour(value: string, theme: string): string {
  const [, light, dark] = /light-dark\(\s*(#\w+)\s*,\s*(#\w+)\s*\)/.exec(value) ?? []
  return (theme === 'dark' ? dark : light) ?? value
}
