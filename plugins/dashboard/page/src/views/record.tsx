import type { RecordView as Record } from '@svc/contracts'
import { useEffect, useState } from 'preact/hooks'
import { ActionButtons } from '../actions.tsx'
import { type BindingScope, boundInput, linkAddress, valueAt } from '../bindings.ts'
import { schemaAt, textOf } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { path } from '../router.ts'
import { useSource } from '../source.ts'
import { recordName } from '../state.ts'
import { isEmpty, Value } from '../value.tsx'
import { columnFormat, type ShownColumn, shownColumns } from './columns.ts'
import { useOperation } from './use-operation.ts'
import type { ViewProps } from './view.tsx'

/** Texts of more characters get the whole width. */
const MAX_HALF_WIDTH = 44
const MAX_NAME = 80
const NO_SCOPE: BindingScope = { route: {}, filters: new URLSearchParams() }

/** Names and values of one object. */
export function RecordView({ view, scope }: ViewProps<Record>) {
  const source = useSource(view.operation, boundInput(view.input, scope))
  const info = useOperation(view.operation)
  const object = valueAt(source.value.value, view.field)
  const name = view.name === undefined ? '' : nameOf(valueAt(object, view.name))
  useEffect(() => {
    if (name !== '') recordName.value = { path: path.value, name }
  }, [name, path.value])
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  if (object === null || object === undefined) return <Empty>{view.empty ?? 'Nothing here yet.'}</Empty>
  const columns = shownColumns(view.columns, schemaAt(info?.output, view.field), undefined, object)
  return (
    <div class="card stack">
      <Fields columns={columns} row={object} scope={scope} />
      <ActionButtons
        kind={view.of}
        row={object}
        name={name === '' ? nameOf(valueAt(object, columns[0]?.field)) : name}
        onDone={() => source.refresh()}
      />
    </div>
  )
}

interface FieldsProps {
  readonly columns: readonly ShownColumn[]
  readonly row: unknown
  /** Values that links refer to, in addition to the row. */
  readonly scope?: BindingScope
}

/** Names and values of an object's fields. Fields without a value are hidden until the reader wants them. */
export function Fields({ columns, row, scope = NO_SCOPE }: FieldsProps) {
  const [showEmpty, setShowEmpty] = useState(false)
  const filled = columns.filter(({ field }) => !isEmpty(valueAt(row, field)))
  const hidden = columns.length - filled.length
  return (
    <>
      <dl class="fields">
        {(showEmpty ? columns : filled).map(column => (
          <FieldOf key={column.field} column={column} scope={{ ...scope, row }} />
        ))}
      </dl>
      {hidden === 0 ? null : (
        <button type="button" class="plain compact show-empty" onClick={() => setShowEmpty(!showEmpty)}>
          {showEmpty ? 'Hide empty fields' : `Show ${hidden} empty ${hidden === 1 ? 'field' : 'fields'}`}
        </button>
      )}
    </>
  )
}

function FieldOf({ column, scope }: { readonly column: ShownColumn; readonly scope: BindingScope }) {
  const { row } = scope
  const value = valueAt(row, column.field)
  const format = columnFormat(column, row)
  const shown = <Value value={value} format={format} />
  const to = column.link === undefined ? null : linkAddress(column.link, scope)
  const isLong = format === 'json' || format === 'markdown' || textOf(value, format).length > MAX_HALF_WIDTH
  return (
    <div class={isLong ? 'long' : ''}>
      <dt>{column.title}</dt>
      <dd>{to === null ? shown : <a href={to}>{shown}</a>}</dd>
    </div>
  )
}

/** Returns the first line of a name, shortened. */
function nameOf(value: unknown): string {
  const [line = ''] = textOf(value, 'text').trim().split('\n')
  return line.length > MAX_NAME ? `${line.slice(0, MAX_NAME - 1)}…` : line
}
