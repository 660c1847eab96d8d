import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { agoText } from '../format.ts'
import { Dialog, Empty, ErrorNotice, Loading, reportError } from '../parts.tsx'
import { useSource } from '../source.ts'
import { showToast } from '../state.ts'
import { Diff, type Preview } from './config-draft.tsx'

interface Version {
  readonly id: string
  readonly time: string
  readonly keys: readonly string[]
}

/** Earlier versions of svc.toml, which can be restored. */
export function ConfigHistory() {
  const source = useSource('kernel.config.history', {})
  const [open, setOpen] = useState<Version | null>(null)
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  const { versions } = source.value.value as { versions: readonly Version[] }
  if (versions.length === 0)
    return <Empty>No earlier version. Each change that is written here keeps the previous text.</Empty>
  return (
    <div class="card stack">
      {versions.map(version => (
        <div class="row" key={version.id}>
          <span>{agoText(Date.parse(version.time))}</span>
          <span class="grow dim">{`before the change of ${version.keys.join(', ') || 'the whole file'}`}</span>
          <button type="button" class="compact" onClick={() => setOpen(version)}>
            Restore
          </button>
        </div>
      ))}
      {open === null ? null : (
        <RestoreDialog
          version={open}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null)
            source.refresh()
          }}
        />
      )}
    </div>
  )
}

interface RestoreProps {
  readonly version: Version
  readonly onClose: () => void
  readonly onDone: () => void
}

function RestoreDialog({ version, onClose, onDone }: RestoreProps) {
  const preview = useSource('kernel.config.preview', { id: version.id })
  const restore = async (): Promise<void> => {
    const { digest } = preview.value.value as Preview
    try {
      await call('kernel.config.rollback', { id: version.id, digest })
      showToast('ok', 'svc.toml is restored and in force')
      onDone()
    } catch (error) {
      reportError(error)
    }
  }
  return (
    <Dialog title="Restore svc.toml" onClose={onClose}>
      <div class="stack">
        <h2>Restore svc.toml</h2>
        {preview.error.value !== null ? (
          <ErrorNotice error={preview.error.value} />
        ) : preview.loading.value ? (
          <Loading />
        ) : (
          <Diff text={(preview.value.value as Preview).diff} />
        )}
        <div class="row">
          <button type="button" class="primary" disabled={preview.loading.value} onClick={() => void restore()}>
            Restore
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}
