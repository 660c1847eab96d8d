import type { FormView as Form } from '@svc/contracts'
import { boundInput, linkAddress } from '../bindings.ts'
import { OperationForm } from '../form/operation-form.tsx'
import { navigate } from '../router.ts'
import type { ViewProps } from './view.tsx'

/** Form for an operation, which shows the output or opens the next page. */
export function FormView({ view, scope }: ViewProps<Form>) {
  const done = (output: unknown): void => {
    const to = view.next === undefined ? null : linkAddress(view.next, { ...scope, row: output })
    if (to !== null) navigate(to)
  }
  // Fields that the page binds cannot be changed.
  const bound = boundInput(view.input, scope)
  return (
    <OperationForm
      operation={view.operation}
      initial={bound}
      hidden={Object.keys(bound)}
      submit={view.submit}
      onDone={view.next === undefined ? undefined : done}
    />
  )
}
