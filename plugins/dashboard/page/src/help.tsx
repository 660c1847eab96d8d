import { Dialog } from './parts.tsx'

const KEYS = [
  ['Ctrl K', 'search pages, plugins, operations and settings'],
  ['/', 'move to the first filter'],
  ['j, k or arrows', 'move through a table'],
  ['Enter', 'open the selected row, or send a form'],
  ['Ctrl Enter', 'send a form from a text of several lines'],
  ['Left, Right', 'move between tabs'],
  ['Esc', 'close a dialog'],
  ['?', 'show this list']
] as const

/** List of the keyboard shortcuts. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div class="stack">
        <h2>Keyboard shortcuts</h2>
        <dl class="record">
          {KEYS.map(([key, text]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
        <div class="row">
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  )
}
