import { useState } from 'preact/hooks'
import { Dialog } from './parts.tsx'

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
