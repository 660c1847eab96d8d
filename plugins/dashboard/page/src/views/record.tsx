import type { RecordView as Record } from '@svc/contracts'
import { ActionButtons } from '../actions.tsx'
import { boundInput, linkAddress, valueAt } from '../bindings.ts'
import { schemaAt } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { Value } from '../value.tsx'
import { columnFormat, type ShownColumn, shownColumns } from './columns.ts'
import { useOperation } from './use-operation.ts'
import type { ViewProps } from './view.tsx'

/** Names and values of one object. */
export function RecordView({ view, scope }: ViewProps<Record>) {
  const source = useSource(view.operation, boundInput(view.input, scope))
  const info = useOperation(view.operation)
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  const object = valueAt(source.value.value, view.field)
  if (object === null || object === undefined) return <Empty>{view.empty ?? 'Nothing here yet.'}</Empty>
  const columns = shownColumns(view.columns, schemaAt(info?.output, view.field), undefined, object)
  return (
    <div class="card stack">
      <Fields columns={columns} row={object} />
      <ActionButtons kind={view.of} row={object} onDone={() => source.refresh()} />
    </div>
  )
}

/** Names and values of an object's fields. */
export function Fields({ columns, row }: { readonly columns: readonly ShownColumn[]; readonly row: unknown }) {
  return (
    <dl class="record">
      {columns.map(column => {
        const value = valueAt(row, column.field)
        const shown = <Value value={value} format={columnFormat(column, row)} />
        const to =
          column.link === undefined
            ? null
            : linkAddress(column.link, { route: {}, filters: new URLSearchParams(), row })
        return (
          <>
            <dt>{column.title}</dt>
            <dd>{to === null ? shown : <a href={to}>{shown}</a>}</dd>
          </>
        )
      })}
    </dl>
  )
}
