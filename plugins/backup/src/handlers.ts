import type { Handler } from '@svc/plugin-sdk'
import type { Backups, Dependencies } from './backups.ts'
import type { backupDismiss, backupInbox, backupRun, backupStatus } from './operations.ts'
import { nextAt } from './schedule.ts'

const PAGE = '/ui/p/backup/backups'

export function statusHandler(backups: Backups, { settings }: Dependencies): Handler<typeof backupStatus> {
  return async (_input, call) => {
    const { every_hours, keep, recipients, passphrase } = settings()
    const [{ success, failure }, listed] = await Promise.all([
      backups.status.read(),
      backups.list(backups.folder, call.signal)
    ])
    const next = nextAt(every_hours, success?.at ?? null, failure?.at ?? null)
    const time = (at: number | null | undefined): string | null => (at == null ? null : new Date(at).toISOString())
    return {
      folder: backups.folder,
      every_hours,
      keep,
      encrypted: recipients.length > 0 || passphrase !== undefined,
      last_success: time(success?.at),
      last_file: success?.file ?? null,
      last_bytes: success?.bytes ?? null,
      last_failure: failure?.message ?? null,
      next: time(next === null ? null : Math.max(next, Date.now())),
      backups: listed.map(({ file, bytes, created_at, encrypted, problem }) => {
        return { file, bytes, created_at, encrypted, problem }
      })
    }
  }
}

export function runHandler(backups: Backups, changed: () => void): Handler<typeof backupRun> {
  return async (_input, call) => {
    try {
      const { file, bytes, files, databases } = await backups.createScheduled(call.signal)
      return { file, bytes, files, databases }
    } finally {
      changed()
    }
  }
}

export function dismissHandler(backups: Backups, changed: () => void): Handler<typeof backupDismiss> {
  return async () => {
    const dismissed = await backups.status.dismiss()
    changed()
    return { dismissed }
  }
}

export function inboxHandler(backups: Backups): Handler<typeof backupInbox> {
  return async () => {
    const { failure } = await backups.status.read()
    if (failure === null) return { items: [] }
    const next = failure.hint === null ? '' : ` Next step: ${failure.hint}`
    const again = { label: 'Back up now', operation: 'backup.run', input: {}, tone: 'primary' as const }
    return {
      items: [
        {
          id: 'failed backup',
          kind: 'failure',
          title: 'The last backup failed',
          body: `${failure.message}.${next}`,
          since: failure.at,
          link: PAGE,
          answers: [again, { label: 'Dismiss', operation: 'backup.dismiss', input: {} }]
        }
      ]
    }
  }
}
