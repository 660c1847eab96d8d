import { useSignal } from '@preact/signals'

/** Time for which a button says that it copied, in milliseconds. */
const SHOWN_MS = 2_000

/** Button that copies a text. If the browser forbids that, it shows the text to copy by hand. */
export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string | undefined }) {
  const state = useSignal<'idle' | 'copied' | string[]>('idle')
  const copy = async (): Promise<void> => {
    const value = text()
    if (value === undefined) return
    try {
      await navigator.clipboard.writeText(value)
      state.value = 'copied'
      setTimeout(() => {
        state.value = 'idle'
      }, SHOWN_MS)
    } catch {
      state.value = [value]
    }
  }
  const shown = Array.isArray(state.value) ? state.value[0] : undefined
  return (
    <>
      <button type="button" class="small" onClick={() => void copy()}>
        {state.value === 'copied' ? 'Copied' : label}
      </button>
      {shown === undefined ? null : (
        <textarea
          class="copy"
          readOnly
          rows={4}
          aria-label={`${label}: text to copy`}
          value={shown}
          onFocus={event => event.currentTarget.select()}
        />
      )}
    </>
  )
}
