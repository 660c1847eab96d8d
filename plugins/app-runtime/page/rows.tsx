import type { ConsoleApi } from '@svc/contracts'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { Cell } from './cell.tsx'
import type { Column, Row } from './cell-text.ts'
import { draw } from './draw.ts'
import { RowDialog } from './row-dialog.tsx'

const PAGE_SIZE = 100

/** Draws the rows of the table in the page's path. Returns the disposer. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  return draw(root, <TablePage api={api} />)
}

interface Filter {
  readonly column: string
  readonly op: string
  readonly value?: string
}

/** Filters, order and page of the table; survive a replacement of this code. */
interface Look {
  readonly filter: readonly Filter[]
  /** Column; with a leading `-` in descending order. */
  readonly sort: string | undefined
  /** The pages up to this one, without the first: the cursor, and the number of rows before. */
  readonly pages: readonly { readonly cursor: string; readonly start: number }[]
}

interface Page {
  readonly rows: readonly Row[]
  readonly cursor: string | null
}

const FIRST: Look = { filter: [], sort: undefined, pages: [] }

function TablePage({ api }: { readonly api: ConsoleApi }) {
  const { app = '', table = '' } = api.route
  const key = `${app} ${table}`
  const [columns, setColumns] = useState<readonly Column[] | null>(null)
  const [look, setLook] = useState<Look>((api.memory.get(key) as Look | undefined) ?? FIRST)
  const [page, setPage] = useState<Page | null>(null)
  const [total, setTotal] = useState<number | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [note, setNote] = useState('')
  const [edited, setEdited] = useState<Row | 'new' | null>(null)
  const [revision, setRevision] = useState(0)
  const reload = useCallback(() => setRevision(before => before + 1), [])

  useEffect(() => {
    return api.watch(
      'app.describe',
      { app },
      output => setColumns(columnsOf(output, table)),
      error => setProblem(error.message)
    )
  }, [app, table])

  useEffect(() => {
    const cancel = new AbortController()
    api.memory.set(key, look)
    const { filter, sort, pages } = look
    const cursor = pages.at(-1)?.cursor
    const input = { app, table, filter, limit: PAGE_SIZE, ...(sort && { sort }), ...(cursor && { cursor }) }
    api.call('app.table.rows', input, { signal: cancel.signal }).then(
      output => {
        const { rows, cursor: next, total: count } = output as Page & { readonly total: number | null }
        setPage({ rows, cursor: next })
        if (count !== null) setTotal(count)
        setProblem(null)
      },
      error => {
        if (!cancel.signal.aborted) setProblem((error as Error).message)
      }
    )
    return () => cancel.abort()
  }, [look, revision])

  const remove = async (row: Row): Promise<void> => {
    setNote('')
    try {
      await api.call('app.table.delete', { app, table, key: row._id, before: withoutId(row) })
      setNote(`Deleted row ${row._id}.`)
      reload()
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'DSH_NOT_CONFIRMED') setProblem((error as Error).message)
    }
  }
  const names = ['_id', ...(columns ?? []).map(({ name }) => name)]
  const start = look.pages.at(-1)?.start ?? 0
  return (
    <div class="page">
      <div class="bar">
        <span class="dim" role="status">
          {page === null ? 'Loading…' : shownCount(start, page.rows.length, total)}
        </span>
        <span class="grow" />
        <button type="button" onClick={reload}>
          Refresh
        </button>
        {api.may('app.table.insert') ? (
          <button type="button" class="primary" disabled={columns === null} onClick={() => setEdited('new')}>
            Add row
          </button>
        ) : null}
      </div>
      <Filters names={names} filters={look.filter} onChange={filter => setLook({ ...look, filter, pages: [] })} />
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="dim" role="status">
        {note}
      </p>
      {page === null ? null : page.rows.length === 0 ? (
        <p class="empty">
          {look.filter.length === 0
            ? 'No rows yet. Rows appear here when the program inserts them, or with Add row.'
            : 'No row matches the filters.'}
        </p>
      ) : (
        <Rows
          api={api}
          names={names}
          rows={page.rows}
          sort={look.sort}
          onSort={sort => setLook({ ...look, sort, pages: [] })}
          onEdit={setEdited}
          onDelete={row => void remove(row)}
        />
      )}
      <div class="bar">
        <button
          type="button"
          disabled={look.pages.length === 0}
          onClick={() => setLook({ ...look, pages: look.pages.slice(0, -1) })}
        >
          Previous page
        </button>
        <button
          type="button"
          disabled={page === null || page.cursor === null}
          onClick={() => page?.cursor && setLook({ ...look, pages: [...look.pages, nextOf(page, page.cursor, start)] })}
        >
          Next page
        </button>
      </div>
      {edited === null || columns === null ? null : (
        <RowDialog
          api={api}
          app={app}
          table={table}
          columns={columns}
          row={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setNote(edited === 'new' ? 'Added the row.' : `Saved row ${edited._id}.`)
            setEdited(null)
            reload()
          }}
        />
      )}
    </div>
  )
}

function nextOf({ rows }: Page, cursor: string, start: number): Look['pages'][number] {
  return { cursor, start: start + rows.length }
}

function shownCount(start: number, count: number, total: number | null): string {
  const of = total === null ? '' : ` of ${total >= 100_000 ? 'at least ' : ''}${total.toLocaleString('en')}`
  return count === 0 ? 'no rows' : `rows ${start + 1} to ${start + count}${of}`
}

function columnsOf(output: unknown, table: string): readonly Column[] {
  const { tables } = output as { readonly tables: readonly { readonly name: string; readonly columns: Column[] }[] }
  return tables.find(({ name }) => name === table)?.columns ?? []
}

function withoutId({ _id, ...values }: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => !(typeof value === 'object' && value !== null && '$omitted' in value))
  )
}

const OPS: readonly (readonly [op: string, label: string])[] = [
  ['eq', 'equals'],
  ['neq', 'is not'],
  ['contains', 'contains'],
  ['lt', 'less than'],
  ['lte', 'at most'],
  ['gt', 'greater than'],
  ['gte', 'at least'],
  ['is_null', 'has no value'],
  ['not_null', 'has a value']
]

interface FiltersProps {
  readonly names: readonly string[]
  readonly filters: readonly Filter[]
  readonly onChange: (filters: readonly Filter[]) => void
}

function Filters({ names, filters, onChange }: FiltersProps) {
  const [column, setColumn] = useState('_id')
  const [op, setOp] = useState('eq')
  const [value, setValue] = useState('')
  const hasValue = op !== 'is_null' && op !== 'not_null'
  const label = (each: Filter): string =>
    `${each.column} ${OPS.find(([id]) => id === each.op)?.[1]} ${each.value ?? ''}`.trim()
  return (
    <form
      class="bar"
      onSubmit={event => {
        event.preventDefault()
        onChange([...filters, { column, op, ...(hasValue && { value }) }])
        setValue('')
      }}
    >
      <select aria-label="Column" value={column} onChange={event => setColumn(event.currentTarget.value)}>
        {names.map(name => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select aria-label="Comparison" value={op} onChange={event => setOp(event.currentTarget.value)}>
        {OPS.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
      {hasValue ? (
        <input
          type="text"
          aria-label="Value"
          autocomplete="off"
          value={value}
          onInput={event => setValue(event.currentTarget.value)}
        />
      ) : null}
      <button type="submit">Add filter</button>
      {filters.map((each, index) => (
        <span class="chip" key={label(each)}>
          {label(each)}
          <button
            type="button"
            aria-label={`Remove the filter ${label(each)}`}
            onClick={() => onChange(filters.filter((_, at) => at !== index))}
          >
            ×
          </button>
        </span>
      ))}
    </form>
  )
}

interface RowsProps {
  readonly api: ConsoleApi
  readonly names: readonly string[]
  readonly rows: readonly Row[]
  readonly sort: string | undefined
  readonly onSort: (sort: string | undefined) => void
  readonly onEdit: (row: Row) => void
  readonly onDelete: (row: Row) => void
}

function Rows({ api, names, rows, sort, onSort, onEdit, onDelete }: RowsProps) {
  const [mayEdit, mayDelete] = [api.may('app.table.update'), api.may('app.table.delete')]
  const next = (name: string): string | undefined =>
    sort === name ? `-${name}` : sort === `-${name}` ? undefined : name
  const direction = (name: string): 'ascending' | 'descending' | 'none' =>
    sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none'
  return (
    <section class="scroll" aria-label="Rows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {names.map(name => (
              <th key={name} scope="col" aria-sort={direction(name)}>
                <button type="button" class="plain" onClick={() => onSort(next(name))}>
                  {`${name}${{ ascending: ' ↑', descending: ' ↓', none: '' }[direction(name)]}`}
                </button>
              </th>
            ))}
            {mayEdit || mayDelete ? <th scope="col">Actions</th> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={String(row._id)}>
              {names.map(name => (
                <td key={name} data-label={name} class={typeof row[name] === 'number' ? 'number' : ''}>
                  <Cell value={row[name]} />
                </td>
              ))}
              {mayEdit || mayDelete ? (
                <td data-label="Actions">
                  <span class="bar">
                    {mayEdit ? (
                      <button type="button" aria-label={`Edit row ${row._id}`} onClick={() => onEdit(row)}>
                        Edit
                      </button>
                    ) : null}
                    {mayDelete ? (
                      <button
                        type="button"
                        class="danger"
                        aria-label={`Delete row ${row._id}`}
                        onClick={() => onDelete(row)}
                      >
                        Delete
                      </button>
                    ) : null}
                  </span>
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
