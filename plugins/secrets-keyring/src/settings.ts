import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  store: t.enum(['auto', 'os', 'file'], {
    default: 'auto',
    description: 'Keyring of the operating system, or private files. auto: the files where there is no keyring.'
  }),
  folder: t.optional(
    t.string({ minLength: 1, description: 'Folder of the private files. Default: keyring in .vox in the home folder.' })
  ),
  timeout_ms: t.integer({
    default: 10_000,
    minimum: 100,
    maximum: 600_000,
    description: 'Time limit for an answer of the keyring, which may ask the user to unlock it, in milliseconds.'
  })
})

export type Settings = Infer<typeof settings>
