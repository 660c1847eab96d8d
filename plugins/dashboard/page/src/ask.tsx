import type { JsonSchema } from '@svc/plugin-sdk'
import { useState } from 'preact/hooks'
import { type CallError, call } from './api.ts'
import { type FormValue, problemsOf, SchemaFields, submitOnCtrlEnter } from './form/schema-form.tsx'
import { Dialog, ErrorNotice, Loading } from './parts.tsx'
import { operationsById, showToast } from './state.ts'
import { useOperation } from './views/use-operation.ts'

interface AskDialogProps {
  readonly title: string
  readonly operation: string
  /** Fields that are already known. */
  readonly input: FormValue
  /** Fields that the person fills in. */
  readonly ask: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Asks for the fields that an action lacks, then calls its operation. */
export function AskDialog({ title, operation, input, ask, onClose, onDone }: AskDialogProps) {
  const info = useOperation(operation)
  const [value, setValue] = useState<FormValue>(input)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [failure, setFailure] = useState<CallError | null>(null)
  const isDestructive = operationsById.value.get(operation)?.effect === 'destructive'
  const send = async (): Promise<void> => {
    const found = problemsOf(info?.input as JsonSchema, value)
    setProblems(found)
    if (Object.keys(found).length > 0) return
    try {
      await call(operation, value, { confirmed: isDestructive })
      showToast('ok', `${title}: done`)
      onDone()
    } catch (error) {
      setFailure(error as CallError)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        noValidate
        onKeyDown={submitOnCtrlEnter}
        onSubmit={event => {
          event.preventDefault()
          void send()
        }}
      >
        <h2>{title}</h2>
        {info === undefined ? (
          <Loading lines={2} />
        ) : (
          <SchemaFields schema={info.input} value={value} onChange={setValue} problems={problems} only={ask} />
        )}
        {Object.entries(problems)
          .filter(([field]) => !ask.includes(field))
          .map(([field, text]) => (
            <div class="problem" key={field}>{`${field}: ${text}`}</div>
          ))}
        {failure === null ? null : <ErrorNotice error={failure} />}
        <div class="row">
          <button type="submit" class={isDestructive ? 'danger' : 'primary'} disabled={info === undefined}>
            {title}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
