import type { LogView as Log } from '@svc/contracts'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { boundInput, valueAt } from '../bindings.ts'
import { textOf, toneOf } from '../format.ts'
import { Badge, Empty, ErrorNotice, Icon, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { FilterBar, filteredRows, filterValues } from './filters.tsx'
import type { ViewProps } from './view.tsx'

const MAX_LINES = 2_000

/** Log lines, newest last. Stays at the end while the reader is there. */
export function LogView({ view, scope, label }: ViewProps<Log>) {
  const filters = filterValues(view.filters)
  const source = useSource(view.operation, boundInput(view.input, { ...scope, filters }))
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const output = source.value.value
  const lines = useMemo(() => {
    const rows = Array.isArray(output) ? output : valueAt(output, view.rows)
    return filteredRows(Array.isArray(rows) ? rows : [], view.filters, filters).slice(-MAX_LINES)
  }, [output, filters.toString()])
  useLayoutEffect(() => {
    const { current } = box
    if (current !== null && atEnd.current) current.scrollTop = current.scrollHeight
  })
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading lines={8} />
  return (
    <div class="fill">
      <div class="row">
        <FilterBar filters={view.filters} />
        <span class="grow" />
        {source.live ? null : (
          <button type="button" class="compact" onClick={() => source.refresh()}>
            <Icon name="refresh-cw" />
            Refresh
          </button>
        )}
      </div>
      {lines.length === 0 ? (
        <Empty>{view.empty ?? 'No lines yet.'}</Empty>
      ) : (
        <div
          class="log"
          ref={box}
          role="log"
          aria-label={label}
          tabIndex={0}
          onScroll={({ currentTarget }) => {
            const { scrollTop, clientHeight, scrollHeight } = currentTarget
            atEnd.current = scrollTop + clientHeight >= scrollHeight - 8
          }}
        >
          {lines.map((line, index) => (
            <Line key={index} view={view} line={line} />
          ))}
        </div>
      )}
    </div>
  )
}

function Line({ view, line }: { readonly view: Log; readonly line: unknown }) {
  const level = view.level === undefined ? undefined : valueAt(line, view.level)
  const rest = (view.columns ?? []).flatMap(({ field }) => {
    const value = valueAt(line, field)
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    return value === undefined || value === null || isEmpty
      ? []
      : [typeof value === 'object' ? JSON.stringify(value) : String(value)]
  })
  return (
    <div>
      <span class="dim">{textOf(valueAt(line, view.time), 'time')}</span>{' '}
      {typeof level === 'string' ? <Badge tone={toneOf(level)}>{level}</Badge> : null}{' '}
      {String(valueAt(line, view.message) ?? '')}
      {rest.length === 0 ? null : <span class="dim"> {rest.join(' ')}</span>}
    </div>
  )
}
