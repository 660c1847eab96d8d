import type { ConsoleApi } from '@svc/contracts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Column, editedValue, editText, omittedLength, type Row, shownText } from './cell-text.ts'

interface RowDialogProps {
  readonly api: ConsoleApi
  readonly app: string
  readonly table: string
  readonly columns: readonly Column[]
  /** The row to edit; null for a new one. */
  readonly row: Row | null
  readonly onClose: () => void
  readonly onSaved: () => void
}

/** Edited text of a field; null: no value. */
type Edits = Readonly<Record<string, string | null>>

interface Failure {
  readonly message: string
  readonly hint?: string | undefined
  /** The row as it is now, if it was changed in between. */
  readonly current?: Row | undefined
}

/** Form for one row. An edit is refused if the row was changed since it was read. */
export function RowDialog({ api, app, table, columns, row, onClose, onSaved }: RowDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [base, setBase] = useState(row)
  const [edits, setEdits] = useState<Edits>({})
  const [failure, setFailure] = useState<Failure | null>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const save = async (): Promise<void> => {
    setFailure(null)
    setBusy(true)
    try {
      const values = valuesOf(columns, edits)
      if (base === null) await api.call('app.table.insert', { app, table, values })
      else {
        const read = Object.entries(base).filter(([name, value]) => name !== '_id' && omittedLength(value) === null)
        const before = Object.fromEntries(read)
        await api.call('app.table.update', { app, table, key: base._id, before, after: values })
      }
      onSaved()
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setBusy(false)
    }
  }
  const title = base === null ? `Add a row to ${table}` : `Edit row ${base._id} of ${table}`
  const current = failure?.current
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <form
        class="edit"
        noValidate
        onKeyDown={submitOnEnter}
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <h2>{title}</h2>
        {columns.map(column => (
          <Field
            key={column.name}
            column={column}
            stored={base?.[column.name]}
            isNew={base === null}
            edit={edits[column.name]}
            onEdit={text => setEdits({ ...edits, [column.name]: text })}
          />
        ))}
        {failure === null ? null : (
          <div class="problem" role="alert">
            <p>{failure.message}</p>
            {failure.hint === undefined ? null : <p class="dim">{failure.hint}</p>}
          </div>
        )}
        {current === undefined ? null : (
          <div class="notice">
            <p>The row now has:</p>
            {columns
              .filter(({ name }) => JSON.stringify(current[name]) !== JSON.stringify(base?.[name]))
              .map(({ name }) => (
                <p key={name}>
                  {name}: <code>{shownText(current[name])}</code>
                </p>
              ))}
            <button
              type="button"
              onClick={() => {
                setBase(current)
                setFailure(null)
              }}
            >
              Use the current row and keep my edits
            </button>
          </div>
        )}
        <div class="bar">
          <button type="submit" class="primary" disabled={busy}>
            {base === null ? 'Add row' : 'Save'}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <span class="dim" role="status">
            {busy ? 'Saving…' : ''}
          </span>
          <span class="grow" />
          <span class="dim">Shift+Enter: new line</span>
        </div>
      </form>
    </dialog>
  )
}

/**
 * Sends the form on Enter in a text area. Shift+Enter starts a new line; in a text of several lines, and in JSON, so
 * does Enter, and Ctrl+Enter sends.
 */
function submitOnEnter(event: KeyboardEvent): void {
  const { key, target, ctrlKey, metaKey, shiftKey, isComposing } = event
  if (key !== 'Enter' || shiftKey || isComposing || !(target instanceof HTMLTextAreaElement)) return
  const isMultiLine = target.value.includes('\n') || target.classList.contains('code')
  if (isMultiLine && !ctrlKey && !metaKey) return
  event.preventDefault()
  target.form?.requestSubmit()
}

/** Value of a field that had none, before the person changes it. */
const FIRST_VALUES: Partial<Record<Column['kind'], unknown>> = { bool: false }

interface FieldProps {
  readonly column: Column
  /** The stored value; undefined for a new row. */
  readonly stored: unknown
  readonly isNew: boolean
  readonly edit: string | null | undefined
  readonly onEdit: (text: string | null) => void
}

function Field({ column, stored, isNew, edit, onEdit }: FieldProps) {
  const { name, type, kind, optional, has_default: hasDefault } = column
  const length = omittedLength(stored)
  const text = edit === undefined ? editText(stored) : (edit ?? '')
  const isNone = edit === undefined ? stored === null : edit === null
  const untouched = isNew && edit === undefined ? (hasDefault ? 'default' : optional ? 'no value' : '') : ''
  const id = `field-${name}`
  const shared = { id, value: text, disabled: isNone, placeholder: untouched } as const
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onEdit(event.currentTarget.value)
  return (
    <div class="field">
      <label for={id} class="name">
        {name} <span class="type">{type}</span>
      </label>
      {length !== null ? (
        <p class="dim">{`${length} characters: too long to be edited here`}</p>
      ) : kind === 'bool' ? (
        <select id={id} value={text} disabled={isNone} onChange={onInput}>
          {isNew && edit === undefined ? <option value="">{untouched}</option> : null}
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : kind === 'json' || kind === 'vector' ? (
        <textarea {...shared} class="code" rows={4} spellcheck={false} onInput={onInput} />
      ) : kind === 'str' ? (
        <textarea {...shared} rows={2} onInput={onInput} />
      ) : (
        <input {...shared} type="text" autocomplete="off" onInput={onInput} />
      )}
      {optional && length === null ? (
        <label>
          <input
            type="checkbox"
            checked={isNone}
            onChange={event => onEdit(event.currentTarget.checked ? null : editText(stored ?? FIRST_VALUES[kind]))}
          />
          no value
        </label>
      ) : null}
    </div>
  )
}

/** Returns the values of the edited fields. Throws an error that names the field. */
function valuesOf(columns: readonly Column[], edits: Edits): Record<string, unknown> {
  const edited = columns.flatMap(column => {
    const text = edits[column.name]
    if (text === undefined) return []
    if (text === null) return [[column.name, null] as const]
    try {
      return [[column.name, editedValue(column, text)] as const]
    } catch (error) {
      throw new Error(`${column.name} is not JSON: ${(error as Error).message}`)
    }
  })
  return Object.fromEntries(edited)
}

function failureOf(error: unknown): Failure {
  const { message, code, hint, data } = error as Error & {
    readonly code?: string
    readonly hint?: string
    readonly data?: { readonly row?: Row }
  }
  return code === 'APP_ROW_CHANGED' ? { message, hint, current: data?.row } : { message, hint }
}
