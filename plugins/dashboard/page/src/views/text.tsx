import type { TextView as Text } from '@svc/contracts'
import { boundInput, valueAt } from '../bindings.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { Value } from '../value.tsx'
import type { ViewProps } from './view.tsx'

/** Text of an output field. */
export function TextView({ view, scope }: ViewProps<Text>) {
  const source = useSource(view.operation, boundInput(view.input, scope))
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  const value = valueAt(source.value.value, view.field)
  if (value === undefined || value === null || value === '') return <Empty>{view.empty ?? 'Nothing here yet.'}</Empty>
  if (view.format === 'markdown')
    return (
      <div class="card">
        <Value value={value} format="markdown" />
      </div>
    )
  return (
    <div class="card">
      <pre>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </div>
  )
}
