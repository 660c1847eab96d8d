import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { CommandIo } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import type { Keys, Locks } from './age/keys.ts'
import { parseIdentities, parseRecipient } from './age/keys.ts'
import { backupErrors } from './errors.ts'
import type { Settings } from './settings.ts'

const MIN_PASSPHRASE = 12

export interface LockOptions {
  readonly recipient?: readonly string[] | undefined
  readonly passphrase_file?: string | undefined
  readonly without_keys: boolean
  readonly unencrypted: boolean
}

/**
 * Returns how an archive is encrypted: by options, else by settings, else by a passphrase from the terminal. Null: not at
 * all. Throws `BKP_KEY_REQUIRED` if keys would be written unencrypted without `--unencrypted`.
 */
export async function locksOf(
  { recipient = [], passphrase_file, without_keys, unencrypted }: LockOptions,
  settings: Pick<Settings, 'recipients' | 'passphrase'>,
  io: Pick<CommandIo, 'stdin' | 'stderr' | 'signal'> | null
): Promise<Locks | null> {
  if (recipient.length > 0 && passphrase_file !== undefined)
    throw options('--recipient does not go with --passphrase-file', 'name one of them')
  if (unencrypted && (recipient.length > 0 || passphrase_file !== undefined))
    throw options('--unencrypted does not go with a key', 'leave one of them out')
  if (recipient.length > 0) return { recipients: recipient.map(parseRecipient) }
  if (passphrase_file !== undefined) return { passphrase: strong(await readPassphrase(passphrase_file)) }
  if (unencrypted) return null
  if (settings.recipients.length > 0) return { recipients: settings.recipients.map(parseRecipient) }
  if (settings.passphrase !== undefined) return { passphrase: settings.passphrase }
  if (without_keys) return null
  if (io?.stdin.isTTY === true) {
    const passphrase = strong(await ask(io, 'passphrase of the backup'))
    if ((await ask(io, 'the same passphrase again')) === passphrase) return { passphrase }
    throw options('the two passphrases differ', 'run the command again')
  }
  throw backupErrors.create('BKP_KEY_REQUIRED', 'the backup would hold keys and secrets, and nothing encrypts it', {
    hint: 'name --recipient or --passphrase-file, or use --without-keys; --unencrypted writes them readable'
  })
}

/** Returns the keys for reading an archive: by options, else the passphrase of the settings. */
export async function keysOf(
  {
    identity,
    passphrase_file
  }: { readonly identity?: string | undefined; readonly passphrase_file?: string | undefined },
  settings: Pick<Settings, 'passphrase'>
): Promise<Keys> {
  const identities = identity === undefined ? [] : parseIdentities(await read(identity), identity)
  const passphrase = passphrase_file === undefined ? settings.passphrase : await readPassphrase(passphrase_file)
  return passphrase === undefined ? { identities } : { identities, passphrase }
}

/** Asks for a passphrase on the terminal, without showing it. Throws `BKP_KEY_REQUIRED` without a terminal. */
export async function ask(io: Pick<CommandIo, 'stdin' | 'stderr' | 'signal'>, what: string): Promise<string> {
  io.stderr.write(`${what}: `)
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: io.stdin, output: hidden, terminal: true })
  try {
    return await lines.question('', { signal: io.signal })
  } finally {
    lines.close()
    io.stderr.write('\n')
  }
}

async function readPassphrase(file: string): Promise<string> {
  const [first = ''] = (await read(file)).split(/\r?\n/)
  return first
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw backupErrors.create('BKP_FAILED', `${file} cannot be read: ${errorMessage(error)}`, { at: { file } })
  }
}

function strong(passphrase: string): string {
  if (passphrase.length >= MIN_PASSPHRASE) return passphrase
  throw options(`the passphrase has fewer than ${MIN_PASSPHRASE} characters`, 'use several random words')
}

function options(problem: string, hint: string): Error {
  return backupErrors.create('BKP_OPTIONS', problem, { hint })
}
