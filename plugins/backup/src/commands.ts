import { type CommandDescriptor, t } from '@svc/plugin-sdk'

const file = t.string({ minLength: 1, description: 'Archive of svc backup.' })
const keys = {
  identity: t.optional(t.string({ minLength: 1, description: 'File with the private key (identity) of age.' })),
  passphrase_file: t.optional(t.string({ minLength: 1, description: 'File whose first line is the passphrase.' }))
}

export const createInput = t.object({
  file: t.optional(
    t.string({ minLength: 1, description: 'New file. Default: a name with the time in plugins.backup.folder.' })
  ),
  recipient: t.optional(t.array(t.string(), { description: 'Encrypt for this public key of age; repeatable.' })),
  passphrase_file: keys.passphrase_file,
  without_keys: t.boolean({ default: false, description: 'Leave keys and secrets out.' }),
  unencrypted: t.boolean({ default: false, description: 'Write keys and secrets unencrypted.' })
})

export const verifyInput = t.object({ file, ...keys })
export const listInput = t.object({
  folder: t.optional(t.string({ minLength: 1, description: 'Default: plugins.backup.folder.' }))
})
export const keyInput = t.object({ file: t.string({ minLength: 1, description: 'New file of the private key.' }) })

export const restoreInput = t.object({
  file,
  to: t.optional(t.string({ minLength: 1, description: 'Empty folder to restore to. Default: this project.' })),
  force: t.boolean({ default: false, description: 'Replace the state of a project; the replaced files are kept.' }),
  dry_run: t.boolean({ default: false, description: 'Read and check everything, but change nothing.' }),
  without_keys: t.boolean({ default: false, description: 'Leave keys and secrets as they are.' }),
  ...keys
})

export const createCommand: CommandDescriptor = {
  command: 'backup',
  summary: 'Back up settings, databases, programs and keys',
  input: createInput,
  args: ['file'],
  tolerant: true
}

export const verifyCommand: CommandDescriptor = {
  command: 'backup verify',
  summary: 'Check every file and database of a backup',
  input: verifyInput,
  args: ['file'],
  tolerant: true
}

export const listCommand: CommandDescriptor = {
  command: 'backup list',
  summary: 'List backups of a folder',
  input: listInput,
  args: ['folder'],
  tolerant: true
}

export const keyCommand: CommandDescriptor = {
  command: 'backup key',
  summary: 'Make a key pair for encrypted backups',
  input: keyInput,
  args: ['file'],
  tolerant: true
}

export const restoreCommand: CommandDescriptor = {
  command: 'restore',
  summary: 'Restore a backup into an empty folder or this project',
  input: restoreInput,
  args: ['file'],
  tolerant: true
}

export const commands = [createCommand, verifyCommand, listCommand, keyCommand, restoreCommand]
