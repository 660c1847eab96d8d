import type { TableView as Table } from '@svc/contracts'
import { useMemo, useRef, useState } from 'preact/hooks'
import { ActionButtons } from '../actions.tsx'
import { type BindingScope, boundInput, linkAddress, valueAt } from '../bindings.ts'
import { Empty, ErrorNotice, Icon, Loading } from '../parts.tsx'
import { navigate } from '../router.ts'
import { useSource } from '../source.ts'
import { consoleState, mayCall } from '../state.ts'
import { isEmpty, Value } from '../value.tsx'
import { actionsWidth } from './actions-width.ts'
import { columnWidths } from './column-widths.ts'
import { columnFormat, compareValues, NUMERIC, rowSchema, type ShownColumn, shownColumns } from './columns.ts'
import { FilterBar, filteredRows, filterValues, isAsked, isChosen, isFiltered, NoMatch } from './filters.tsx'
import { SortMenu } from './sort-menu.tsx'
import { useOperation } from './use-operation.ts'
import type { ViewProps } from './view.tsx'
import { useVirtualRows } from './virtual.ts'

const ROW_HEIGHT = 38
const SAMPLED_ROWS = 50
/** Below this number of rows, a table without filters does not show how many it has. */
const COUNTED_ROWS = 10
const COUNT = new Intl.NumberFormat()

interface TableProps extends ViewProps<Table> {
  /** Address of a row's page; default: that of the view's link. */
  readonly address?: (row: unknown) => string | null
  /** Order of the rows until the reader sorts them. */
  readonly order?: (a: unknown, b: unknown) => number
}

/** Table with filters, sorting and only the visible rows in the document. Rows are cards on a narrow screen. */
export function TableView({ view, scope, label, address, order }: TableProps) {
  const filters = filterValues(view.filters)
  const source = useSource(view.operation, boundInput(view.input, { ...scope, filters }), view.key)
  const info = useOperation(view.operation)
  const output = source.value.value
  const delta = info?.watch?.mode === 'delta'
  const rows = useMemo(
    () => arrayOf(delta || Array.isArray(output) ? output : valueAt(output, view.rows)),
    [output, delta]
  )
  const schema = rowSchema(info, view.rows)
  const columns = shownColumns(view.columns, schema, info?.expose?.cli?.view?.columns, rows[0])
  const [sort, setSort] = useState(view.sort ?? '')
  const matching = useMemo(() => filteredRows(rows, view.filters, filters), [rows, filters.toString()])
  const sorted = useMemo(() => sortedRows(matching, sort, order), [matching, sort])

  const keepsBar = isAsked(view.filters)
  const failure = rows.length === 0 ? source.error.value : null
  if (failure !== null && !keepsBar) return <ErrorNotice error={failure} retry={() => source.refresh()} />
  if (source.loading.value && !keepsBar) return <Loading lines={6} />
  // Without a row there is nothing to filter, but something to ask for.
  const hasBar = view.filters !== undefined && (keepsBar || rows.length > 0 || isFiltered(view.filters, filters))
  return (
    <div class="fill">
      <div class="row bar-of-view">
        {hasBar ? <FilterBar filters={view.filters} /> : null}
        <span class="grow" />
        {!hasBar && rows.length < COUNTED_ROWS ? null : (
          <span class="small dim" role="status">
            {sorted.length === rows.length
              ? `${COUNT.format(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}`
              : `${COUNT.format(sorted.length)} of ${COUNT.format(rows.length)} rows`}
          </span>
        )}
        {sorted.length > 1 ? <SortMenu columns={columns} sort={sort} onSort={setSort} /> : null}
        {source.live ? null : (
          <button type="button" class="compact" onClick={() => source.refresh()}>
            <Icon name="refresh-cw" />
            Refresh
          </button>
        )}
      </div>
      {source.error.value === null ? null : <ErrorNotice error={source.error.value} />}
      {source.loading.value ? (
        <Loading lines={6} />
      ) : failure !== null ? null : sorted.length === 0 ? (
        isChosen(view.filters, filters) ? (
          <NoMatch />
        ) : (
          <Empty>{view.empty ?? 'Nothing here yet.'}</Empty>
        )
      ) : (
        <Rows
          label={label}
          rows={sorted}
          columns={columns}
          keyField={view.key}
          kind={view.of}
          scope={{ ...scope, filters }}
          sort={sort}
          onSort={setSort}
          address={
            address ?? (row => (view.open === undefined ? null : linkAddress(view.open, { ...scope, filters, row })))
          }
        />
      )}
    </div>
  )
}

export interface RowsProps {
  readonly label: string
  readonly rows: readonly unknown[]
  readonly columns: readonly ShownColumn[]
  readonly keyField: string
  readonly kind?: string | undefined
  /** Values that the links of columns refer to, in addition to the row. */
  readonly scope: BindingScope
  readonly sort: string
  readonly onSort: (sort: string) => void
  readonly address: (row: unknown) => string | null
}

function Rows({ label, rows, columns, keyField, kind, scope, sort, onSort, address }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState(-1)
  const virtual = useVirtualRows(scroller, rows.length, ROW_HEIGHT)
  const actions = (consoleState.value?.actions ?? []).filter(({ on, operation }) => on === kind && mayCall(operation))
  const formats = columns.map(column => columnFormat(column, rows[0]))
  const names = columns.map(({ field }) => field).join(' ')
  const sampled = Math.min(rows.length, SAMPLED_ROWS)
  const widths = useMemo(() => columnWidths(columns, rows.slice(0, sampled)), [names, sampled])
  const template = [...widths, ...(actions.length === 0 ? [] : [`${actionsWidth(actions)}px`])].join(' ')

  const open = (index: number): void => {
    const to = index < 0 ? null : address(rows[index])
    if (to !== null) navigate(to)
  }
  const move = (event: KeyboardEvent): void => {
    const step =
      event.key === 'j' || event.key === 'ArrowDown' ? 1 : event.key === 'k' || event.key === 'ArrowUp' ? -1 : 0
    if (event.target !== event.currentTarget) return
    if (step !== 0) {
      event.preventDefault()
      const next = Math.max(0, Math.min(rows.length - 1, focused + step))
      setFocused(next)
      virtual.scrollTo(next)
    } else if (event.key === 'Enter') open(focused)
  }
  const maxHeight = Math.min(virtual.height, 100_000)
  return (
    <div class="table" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup">
        <div class="head" role="row" style={{ gridTemplateColumns: template }}>
          {columns.map((column, index) => {
            const direction = sort === column.field ? 'ascending' : sort === `-${column.field}` ? 'descending' : 'none'
            return (
              <div
                key={column.field}
                role="columnheader"
                aria-sort={direction}
                class={`cell ${NUMERIC.has(formats[index] as string) ? 'number' : ''}`}
              >
                <button type="button" onClick={() => onSort(sort === column.field ? `-${column.field}` : column.field)}>
                  {column.title}
                  {direction === 'none' ? null : <Icon name={direction === 'ascending' ? 'arrow-up' : 'arrow-down'} />}
                </button>
              </div>
            )
          })}
          {actions.length > 0 ? (
            <div role="columnheader" class="cell end">
              <span class="visually-hidden">actions</span>
            </div>
          ) : null}
        </div>
      </div>
      <div
        class="scroll"
        ref={scroller}
        role="rowgroup"
        aria-label={`${label}: j and k move, Enter opens`}
        tabIndex={0}
        data-rows=""
        style={{ height: `${maxHeight}px` }}
        onKeyDown={move}
        onClick={event => open(clickedRow(event))}
        onPointerOver={showWholeText}
      >
        <div class="sizer" role="presentation" style={{ height: `${virtual.height}px` }}>
          {virtual.items.map(({ index, start }) => {
            const row = rows[index]
            const to = address(row)
            return (
              <div
                key={String(valueAt(row, keyField) ?? index)}
                ref={virtual.measure}
                data-index={index}
                class={`line ${index === focused ? 'selected' : ''} ${index === rows.length - 1 ? 'last' : ''} ${to === null ? '' : 'opens'}`}
                role="row"
                aria-rowindex={index + 2}
                style={{ transform: `translateY(${start}px)`, gridTemplateColumns: template }}
              >
                {columns.map((column, at) => (
                  <Cell key={column.field} column={column} row={row} scope={scope} to={at === 0 ? to : null} />
                ))}
                {actions.length > 0 ? (
                  <div role="cell" class="cell end">
                    <ActionButtons kind={kind} row={row} name={nameOf(row, columns[0]?.field, keyField)} compact />
                  </div>
                ) : null}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** Returns the index of the clicked row; -1 if the click is for a control in the row, or selects text. */
function clickedRow({ target, ctrlKey, metaKey, shiftKey }: MouseEvent): number {
  if (ctrlKey || metaKey || shiftKey || getSelection()?.isCollapsed === false) return -1
  if (!(target instanceof Element) || target.closest('a, button, input, select, label') !== null) return -1
  return Number(target.closest<HTMLElement>('[data-index]')?.dataset.index ?? -1)
}

function Cell({
  column,
  row,
  scope,
  to
}: {
  readonly column: ShownColumn
  readonly row: unknown
  readonly scope: BindingScope
  readonly to: string | null
}) {
  const format = columnFormat(column, row)
  const value = valueAt(row, column.field)
  const own = column.link === undefined ? to : (linkAddress(column.link, { ...scope, row }) ?? to)
  const shown = <Value value={value} format={format === 'json' || format === 'markdown' ? 'text' : format} />
  return (
    <div role="cell" class={`cell ${NUMERIC.has(format) ? 'number' : ''} ${isEmpty(value) ? 'none' : ''}`}>
      <span class="name" aria-hidden="true">
        {column.title}
      </span>
      {own === null ? shown : <a href={own}>{isEmpty(value) ? '(none)' : shown}</a>}
    </div>
  )
}

/** Shows the whole text of a cell that is cut off as its tooltip. */
function showWholeText({ target }: Event): void {
  const cell = (target as Element).closest<HTMLElement>('[role="cell"]')
  if (cell !== null) cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText.trim() : ''
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the text of a row's first column, by which a reader knows it; if that is none, the key. */
function nameOf(row: unknown, first: string | undefined, key: string): string {
  const text = valueAt(row, first)
  return typeof text === 'string' && text !== '' ? text : String(valueAt(row, key) ?? '')
}

function sortedRows(rows: readonly unknown[], sort: string, order: TableProps['order']): readonly unknown[] {
  if (sort === '') return order === undefined ? rows : [...rows].sort(order)
  const descending = sort.startsWith('-')
  const field = descending ? sort.slice(1) : sort
  const sign = descending ? -1 : 1
  return rows
    .map(row => ({ row, value: valueAt(row, field) }))
    .sort((a, b) => sign * compareValues(a.value, b.value))
    .map(({ row }) => row)
}
