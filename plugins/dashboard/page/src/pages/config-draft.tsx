import { useEffect, useState } from 'preact/hooks'
import { CallError, call } from '../api.ts'
import { Dialog, ErrorNotice, Icon, Loading } from '../parts.tsx'
import { showToast } from '../state.ts'

export interface Preview {
  readonly diff: string
  readonly problems: readonly {
    readonly severity: string
    readonly message: string
    readonly key?: string
    readonly line?: number
    readonly hint?: string
  }[]
  readonly plan: { readonly steps: readonly string[] } | null
  /** Problems that the change causes. An error among them refuses it. */
  readonly caused: Preview['problems']
  readonly shadowed: readonly { readonly key: string; readonly layer: string; readonly place: string }[]
  readonly restart: readonly string[]
  readonly digest: string
}

interface DraftBarProps {
  readonly changes: Readonly<Record<string, unknown>>
  readonly onDiscard: () => void
  readonly onWritten: () => void
}

/** Says how many settings are changed, and leads to the preview. */
export function DraftBar({ changes, onDiscard, onWritten }: DraftBarProps) {
  const [open, setOpen] = useState(false)
  const count = Object.keys(changes).length
  if (count === 0) return null
  return (
    <div class="notice warn" role="status">
      <span class="grow">{`${count} ${count === 1 ? 'setting is' : 'settings are'} changed and not yet written.`}</span>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        Preview
      </button>
      <button type="button" onClick={onDiscard}>
        Discard
      </button>
      {open ? (
        <PreviewDialog
          input={{ changes }}
          onClose={() => setOpen(false)}
          onWritten={() => {
            setOpen(false)
            onWritten()
          }}
        />
      ) : null}
    </div>
  )
}

interface PreviewDialogProps {
  /** `{ changes }` or `{ raw }`. */
  readonly input: Readonly<Record<string, unknown>>
  readonly onClose: () => void
  readonly onWritten: () => void
}

/** Shows the difference, problems, and what the plugins would do; then writes the file. */
export function PreviewDialog({ input, onClose, onWritten }: PreviewDialogProps) {
  const [preview, setPreview] = useState<Preview | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const load = (): void => {
    setFailure(null)
    call('kernel.config.preview', input).then(output => setPreview(output as Preview), setFailure)
  }
  useEffect(load, [])
  const write = async (): Promise<void> => {
    setBusy(true)
    try {
      await call('kernel.config.write', { ...input, digest: preview?.digest })
      showToast('ok', 'svc.toml is written and in force')
      onWritten()
    } catch (error) {
      setFailure(error instanceof CallError ? error : new Error(String(error)))
    } finally {
      setBusy(false)
    }
  }
  const isWrong = preview?.caused.some(({ severity }) => severity === 'error') === true
  return (
    <Dialog title="Preview of the change" onClose={onClose}>
      <div class="stack">
        <h2>Preview of the change</h2>
        {failure === null ? null : <ErrorNotice error={failure} retry={load} />}
        {preview === null && failure === null ? <Loading /> : null}
        {preview === null ? null : (
          <>
            <Diff text={preview.diff} />
            {preview.caused.map(({ severity, message, key, line, hint }) => (
              <div class={`notice ${severity === 'error' ? 'bad' : 'warn'}`} key={`${key} ${message}`}>
                <div>
                  {`${key ?? ''}${line === undefined ? '' : ` (line ${line})`} ${message}`}
                  {hint === undefined ? null : <div class="small">{hint}</div>}
                </div>
              </div>
            ))}
            {preview.shadowed.map(({ key, layer, place }) => (
              <div class="notice warn" key={key}>
                <Icon name="triangle-alert" />
                {`${place} (${layer}) overrides ${key}, so writing it has no effect.`}
              </div>
            ))}
            {preview.restart.length === 0 ? null : (
              <div class="notice warn">{`Takes effect after a restart: ${preview.restart.join(', ')}`}</div>
            )}
            {preview.plan === null ? null : (
              <>
                <h3>This would happen</h3>
                <ul>
                  {preview.plan.steps.length === 0 ? (
                    <li>no plugin changes</li>
                  ) : (
                    preview.plan.steps.map(step => <li key={step}>{step}</li>)
                  )}
                </ul>
              </>
            )}
          </>
        )}
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={preview === null || isWrong || busy}
            onClick={() => void write()}
          >
            Write svc.toml
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}

/** Unified difference with coloured lines. */
export function Diff({ text }: { readonly text: string }) {
  if (text === '') return <p class="dim">No difference.</p>
  return (
    <pre class="diff card">
      {text.split('\n').map((line, index) => (
        <div key={index} class={line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : ''}>
          {line === '' ? ' ' : line}
        </div>
      ))}
    </pre>
  )
}
