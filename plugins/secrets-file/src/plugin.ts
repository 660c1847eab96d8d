import { resolve } from 'node:path'
import { secretBackend } from '@svc/contracts'
import { definePlugin, t } from '@svc/plugin-sdk'
import { fileBackend } from './file-backend.ts'

const file = secretBackend('file')

/** Where Docker, Podman and Compose mount secrets. */
const MOUNTED = '/run/secrets'

export default definePlugin({
  name: 'secrets-file',
  summary: 'Resolves secret://file/NAME references in the configuration from files',
  config: t.object({
    directory: t.optional(
      t.string({
        minLength: 1,
        description:
          'Folder with one file per secret. Default: $CREDENTIALS_DIRECTORY, which systemd sets, else /run/secrets.'
      })
    )
  }),
  provides: [file],
  activate(ctx) {
    const folder = ctx.config.directory ?? (process.env.CREDENTIALS_DIRECTORY || MOUNTED)
    ctx.provide(file, fileBackend(resolve(ctx.projectRoot, folder)))
  }
})
