import type { Column, LogView as Log } from '@svc/contracts'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { type BindingScope, boundInput, linkAddress, valueAt } from '../bindings.ts'
import { textOf, toneOf } from '../format.ts'
import { Empty, ErrorNotice, Icon, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { isEmpty } from '../value.tsx'
import { FilterBar, filteredRows, filterValues, NoMatch } from './filters.tsx'
import type { ViewProps } from './view.tsx'

const MAX_LINES = 2_000

/** Log lines, newest last. Stays at the end while the reader is there. */
export function LogView({ view, scope, label }: ViewProps<Log>) {
  const filters = filterValues(view.filters)
  const source = useSource(view.operation, boundInput(view.input, { ...scope, filters }), view.key ?? 'key')
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const output = source.value.value
  const rows = useMemo(() => {
    const found = Array.isArray(output) ? output : valueAt(output, view.rows)
    return Array.isArray(found) ? found : []
  }, [output])
  const lines = useMemo(() => {
    return filteredRows(rows, view.filters, filters).slice(-MAX_LINES)
  }, [rows, filters.toString()])
  useLayoutEffect(() => {
    const { current } = box
    if (current !== null && atEnd.current) current.scrollTop = current.scrollHeight
  })
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading lines={8} />
  return (
    <div class="fill">
      <div class="row bar-of-view">
        <FilterBar filters={view.filters} />
        <span class="grow" />
        {source.live ? null : (
          <button type="button" class="compact" onClick={() => source.refresh()}>
            <Icon name="refresh-cw" />
            Refresh
          </button>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty>{view.empty ?? 'No lines yet.'}</Empty>
      ) : lines.length === 0 ? (
        <NoMatch what="line" />
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
            <Line key={index} view={view} scope={scope} line={line} />
          ))}
        </div>
      )}
    </div>
  )
}

interface LineProps {
  readonly view: Log
  readonly scope: BindingScope
  readonly line: unknown
}

function Line({ view, scope, line }: LineProps) {
  const level = view.level === undefined ? undefined : valueAt(line, view.level)
  const time = valueAt(line, view.time)
  return (
    <div class={`log-line ${toneOf(level)}`}>
      <time class="dim" title={textOf(time, 'text')}>
        {textOf(time, 'time')}
      </time>
      {typeof level === 'string' ? <span class="level">{level}</span> : null}
      <span class="grow">
        {String(valueAt(line, view.message) ?? '')}
        {(view.columns ?? []).map(column => (
          <Detail key={column.field} view={view} scope={scope} column={column} line={line} />
        ))}
      </span>
    </div>
  )
}

interface DetailProps extends LineProps {
  readonly column: Column
}

function Detail({ column: { field, link }, scope, line }: DetailProps) {
  const value = valueAt(line, field)
  if (isEmpty(value)) return null
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const to = link === undefined ? null : linkAddress(link, { ...scope, row: line })
  return <span class="dim"> {to === null ? text : <a href={to}>{text}</a>}</span>
}
