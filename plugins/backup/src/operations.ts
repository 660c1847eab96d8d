import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { backupErrors } from './errors.ts'

/** Topic that is announced after each backup. */
export const BACKUPS_TOPIC = 'backup.backups'
const BACKUP_TIMEOUT_MS = 3_600_000

const { BKP_BUSY, BKP_CHANGED, BKP_DISK_FULL, BKP_FAILED, BKP_KEY_REQUIRED, BKP_NO_ENGINE } = backupErrors.specs

export const backupStatus = defineOperation({
  id: 'backup.status',
  summary: 'Show the last backup, the schedule, and the backups in the folder',
  input: t.object({}),
  output: t.object({
    folder: t.string(),
    every_hours: t.number({ description: '0: only by command.' }),
    keep: t.integer(),
    encrypted: t.boolean({ description: 'Whether the settings name a recipient or a passphrase.' }),
    last_success: t.nullable(t.string({ description: 'ISO 8601.' })),
    last_file: t.nullable(t.string()),
    last_bytes: t.nullable(t.integer()),
    last_failure: t.nullable(t.string({ description: 'Message of the last backup, if it failed.' })),
    next: t.nullable(t.string({ description: 'When the next backup is due, ISO 8601; null without a schedule.' })),
    backups: t.array(
      t.object({
        file: t.string(),
        bytes: t.integer(),
        created_at: t.string(),
        encrypted: t.boolean(),
        problem: t.nullable(t.string())
      })
    )
  }),
  effect: 'read',
  watch: { on: [BACKUPS_TOPIC], minMs: 1_000 },
  expose: { http: { method: 'GET', path: '/api/backup' }, rpc: true }
})

export const backupRun = defineOperation({
  id: 'backup.run',
  summary: 'Make a backup now, as the settings say',
  description: 'Writes to plugins.backup.folder and removes the oldest backups beyond plugins.backup.keep.',
  input: t.object({}),
  output: t.object({ file: t.string(), bytes: t.integer(), files: t.integer(), databases: t.integer() }),
  errors: { BKP_BUSY, BKP_CHANGED, BKP_DISK_FULL, BKP_FAILED, BKP_KEY_REQUIRED, BKP_NO_ENGINE },
  effect: 'write',
  concurrency: 1,
  timeoutMs: BACKUP_TIMEOUT_MS,
  expose: { http: { method: 'POST', path: '/api/backup' }, rpc: true }
})

export const backupDismiss = defineOperation({
  id: 'backup.dismiss',
  summary: 'Remove a failed backup from the inbox',
  input: t.object({}),
  output: t.object({ dismissed: t.boolean({ description: 'False if there was none.' }) }),
  effect: 'write',
  expose: { rpc: true }
})

export const backupInbox = defineOperation({
  id: 'backup.inbox',
  summary: 'List failed backups that wait for a decision',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [BACKUPS_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const operations = [backupStatus, backupRun, backupDismiss, backupInbox]
