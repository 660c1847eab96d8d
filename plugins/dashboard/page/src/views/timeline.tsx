import type { TimelineView as Timeline } from '@svc/contracts'
import { boundInput, valueAt } from '../bindings.ts'
import { durationText, textOf, timeOf, toneOf } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { isEmpty } from '../value.tsx'
import type { ViewProps } from './view.tsx'

interface Bar {
  readonly lane: string
  readonly start: number
  readonly end: number
  readonly depth: number
  readonly state: unknown
  readonly label: string
  readonly details: string
}

const MAX_BARS = 2_000
/** Labelled points of the axis, as shares of the whole time. */
const TICKS = [0, 0.25, 0.5, 0.75] as const

/** Bars on a time axis, one line each, in the order of the operation. Names, durations and details are text. */
export function TimelineView({ view, scope, label }: ViewProps<Timeline>) {
  const source = useSource(view.operation, boundInput(view.input, scope))
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  const rows = valueAt(source.value.value, view.rows)
  const bars = (Array.isArray(rows) ? rows : []).slice(0, MAX_BARS).flatMap(row => barOf(view, row))
  if (bars.length === 0) return <Empty>{view.empty ?? 'Nothing has run yet.'}</Empty>
  const begin = Math.min(...bars.map(bar => bar.start))
  const total = Math.max(...bars.map(bar => bar.end)) - begin || 1
  return (
    <section class="timeline" aria-label={label}>
      <div class="small dim">{textOf(begin, 'time')}</div>
      <div class="lane small dim" aria-hidden="true">
        {TICKS.map(share => (
          <span key={share} class="tick" style={{ left: `${share * 100}%` }}>
            {share === 0 ? '0' : `+${durationText(total * share).replace(/ min \d+ s$/, ' min')}`}
          </span>
        ))}
      </div>
      <div class="small dim">{durationText(total)}</div>
      {bars.map((bar, index) => (
        <>
          <div key={`${index} lane`} style={{ paddingLeft: `${12 + bar.depth * 14}px` }} title={bar.lane}>
            {bar.lane}
            {bar.details === '' ? null : (
              <div class="small dim details" title={bar.details}>
                {bar.details}
              </div>
            )}
          </div>
          <div key={`${index} bar`} class="lane">
            <span
              class={`bar ${toneOf(bar.state)}`}
              title={`${bar.label}: ${durationText(bar.end - bar.start)}, from ${textOf(bar.start, 'time')}`}
              style={{
                // A short bar at the end stays inside.
                left: `min(${((bar.start - begin) / total) * 100}%, 100% - 4px)`,
                width: `${Math.max(((bar.end - bar.start) / total) * 100, 0.4)}%`
              }}
            />
            <span class="visually-hidden">{`${bar.label} ${textOf(bar.state, 'text')}`}</span>
          </div>
          <div key={`${index} time`} class="small dim">
            {durationText(bar.end - bar.start)}
          </div>
        </>
      ))}
    </section>
  )
}

function barOf(view: Timeline, row: unknown): Bar[] {
  const start = timeOf(valueAt(row, view.start))
  if (start === null) return []
  const end = timeOf(valueAt(row, view.end)) ?? Date.now()
  const depth = Number(valueAt(row, view.depth ?? '\0') ?? 0)
  const lane = textOf(valueAt(row, view.lane), 'text')
  const details = (view.columns ?? []).flatMap(({ field, title, format }) => {
    const value = valueAt(row, field)
    if (isEmpty(value)) return []
    const text = textOf(value, format === undefined || format === 'json' ? 'text' : format)
    return [title === undefined ? text : `${title} ${text}`]
  })
  return [
    {
      lane,
      start,
      end: Math.max(end, start),
      depth: Number.isFinite(depth) ? depth : 0,
      state: view.state === undefined ? undefined : valueAt(row, view.state),
      label: view.label === undefined ? lane : textOf(valueAt(row, view.label), 'text'),
      details: details.join(' · ')
    }
  ]
}
