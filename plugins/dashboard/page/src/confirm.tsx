import { useState } from 'preact/hooks'
import { Dialog } from './parts.tsx'
import { operationsById } from './state.ts'

/** Longest shown value of an input field. */
const MAX_VALUE = 80

/** Says what a call would do, and with which input. */
export function callText(operation: string, input: unknown): string {
  const fields = Object.entries(Object(input) as object).map(([name, value]) => {
    const text = JSON.stringify(value) ?? ''
    return `${name} = ${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1)}…` : text}`
  })
  const summary = operationsById.value.get(operation)?.summary
  const call = `This calls ${operation}${fields.length === 0 ? '' : ` with ${fields.join(', ')}`}.`
  return summary === undefined ? call : `${summary.replace(/\.$/, '')}. ${call}`
}

interface ConfirmProps {
  readonly title: string
  readonly text: string
  /** Text that has to be typed before the button works; absent: a click is enough. */
  readonly word?: string
  readonly label: string
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before something is changed that cannot be undone. */
export function Confirm({ title, text, word, label, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={event => {
          event.preventDefault()
          if (word === undefined || typed === word) onConfirm()
        }}
      >
        <h2>{title}</h2>
        <p>{text}</p>
        {word === undefined ? null : (
          <label class="field">
            <span class="label">{`Type ${word} to confirm`}</span>
            <input
              autofocus
              autocomplete="off"
              value={typed}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          </label>
        )}
        <div class="row">
          <button type="submit" class="danger" disabled={word !== undefined && typed !== word}>
            {label}
          </button>
          <button type="button" onClick={onClose}>
            {label.startsWith('Cancel') ? 'Go back' : 'Cancel'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
