import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  folder: t.string({
    default: 'backups',
    minLength: 1,
    'x-env': 'SVC_BACKUP_FOLDER',
    'x-reload': 'live',
    description: 'Folder of backups without a file name, relative to the project. Use another disk or machine.'
  }),
  every_hours: t.number({
    default: 0,
    minimum: 0,
    maximum: 8_760,
    'x-env': 'SVC_BACKUP_EVERY_HOURS',
    'x-reload': 'live',
    description: 'Hours between backups while svc serves; 0: only by command.'
  }),
  keep: t.integer({
    default: 7,
    minimum: 1,
    maximum: 10_000,
    'x-env': 'SVC_BACKUP_KEEP',
    'x-reload': 'live',
    description: 'Number of scheduled backups that are kept in the folder.'
  }),
  recipients: t.array(t.string({ pattern: '^age1[02-9ac-hj-np-z]{58}$' }), {
    default: [],
    maxItems: 16,
    'x-reload': 'live',
    description: 'Public keys of age that backups are encrypted for; svc backup key FILE makes one.'
  }),
  passphrase: t.optional(
    t.secret({
      minLength: 12,
      'x-env': 'SVC_BACKUP_PASSPHRASE',
      'x-reload': 'live',
      description: 'Passphrase that backups are encrypted with if there is no recipient.'
    })
  ),
  without_keys: t.boolean({
    default: false,
    'x-reload': 'live',
    description: 'Whether keys and secrets are left out. Backups with keys must be encrypted.'
  }),
  include: t.array(t.string({ minLength: 1 }), {
    default: [],
    maxItems: 1_000,
    'x-reload': 'live',
    description: 'Further files and folders of the project that backups hold.'
  })
})

export type Settings = Infer<typeof settings>
