import { useEffect, useState } from 'preact/hooks'
import { CallError, call, loadConsole } from '../api.ts'
import { CopyButton, Dialog, ErrorNotice, Icon, Loading } from '../parts.tsx'
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
  readonly plan: { readonly steps: readonly string[]; readonly replace: readonly string[] } | null
  /** Problems that the change causes. An error among them refuses it. */
  readonly caused: Preview['problems']
  readonly shadowed: readonly { readonly key: string; readonly layer: string; readonly place: string }[]
  readonly restart: readonly string[]
  readonly digest: string
}

/** Plugin whose listener serves this page. */
const LISTENER = 'http'

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
  return (
    <ChangeDialog
      title="Preview of the change"
      label="Write svc.toml"
      done="svc.toml is written and in force"
      input={input}
      apply={digest => call('kernel.config.write', { ...input, digest })}
      onClose={onClose}
      onDone={onWritten}
    />
  )
}

interface ChangeDialogProps {
  readonly title: string
  /** Text of the button that applies the change. */
  readonly label: string
  /** Message after the change. */
  readonly done: string
  /** Input of `kernel.config.preview`. */
  readonly input: Readonly<Record<string, unknown>>
  readonly apply: (digest: string | undefined) => Promise<unknown>
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Previews a change of svc.toml and applies it. */
export function ChangeDialog({ title, label, done, input, apply, onClose, onDone }: ChangeDialogProps) {
  const [preview, setPreview] = useState<Preview | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const [isGone, setGone] = useState(false)
  const load = (): void => {
    setFailure(null)
    call('kernel.config.preview', input).then(output => setPreview(output as Preview), setFailure)
  }
  useEffect(load, [])
  const run = async (): Promise<void> => {
    setBusy(true)
    try {
      await apply(preview?.digest)
      if (replacesListener(preview) && !(await answers())) {
        setGone(true)
        return
      }
      showToast('ok', done)
      onDone()
    } catch (error) {
      setFailure(error instanceof CallError ? error : new Error(String(error)))
    } finally {
      setBusy(false)
    }
  }
  if (isGone) return <Gone onClose={onClose} />
  const isWrong = preview?.caused.some(({ severity }) => severity === 'error') === true
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <h2>{title}</h2>
        {failure === null ? null : <ErrorNotice error={failure} retry={load} />}
        {preview === null && failure === null ? <Loading /> : null}
        {preview === null ? null : <Effects preview={preview} />}
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={preview === null || isWrong || busy}
            onClick={() => void run()}
          >
            {label}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}

function replacesListener(preview: Preview | null): boolean {
  return preview?.plan?.replace.includes(LISTENER) === true
}

/** Returns whether the server still serves this page's address. */
async function answers(): Promise<boolean> {
  try {
    await loadConsole()
    return true
  } catch (error) {
    return error instanceof CallError && error.status !== 0
  }
}

/** Difference, problems and consequences of a change. */
function Effects({ preview }: { readonly preview: Preview }) {
  return (
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
      {replacesListener(preview) ? (
        <div class="notice warn">
          <Icon name="triangle-alert" />
          <div>
            The plugin http serves this console. If its host or port changes, this address stops answering. Then{' '}
            <code>svc dashboard</code> opens the console at the new one, and <code>svc config rollback</code> undoes the
            change.
          </div>
        </div>
      ) : null}
    </>
  )
}

/** Shown when a change moved the console to another address. */
function Gone({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="The console has moved" onClose={onClose}>
      <div class="stack">
        <h2>The console has moved</h2>
        <p>{`svc.toml is written and in force, and svc no longer answers at ${location.host}. Run one of these in the project:`}</p>
        {[
          ['svc dashboard', 'opens the console at its new address'],
          ['svc config rollback', 'undoes the change; then reload this page']
        ].map(([command, effect]) => (
          <div class="row" key={command}>
            <code>{command}</code>
            <span class="grow dim">{effect}</span>
            <CopyButton label="Copy" text={command as string} />
          </div>
        ))}
      </div>
    </Dialog>
  )
}

/** Unified difference with coloured lines. */
function Diff({ text }: { readonly text: string }) {
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
