import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { agoText } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import { ChangeDialog } from './config-draft.tsx'

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
  return (
    <ChangeDialog
      title="Restore svc.toml"
      label="Restore"
      done="svc.toml is restored and in force"
      input={{ id: version.id }}
      apply={digest => call('kernel.config.rollback', { id: version.id, digest })}
      onClose={onClose}
      onDone={onDone}
    />
  )
}
