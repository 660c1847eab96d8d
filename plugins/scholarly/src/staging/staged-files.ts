import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { type PlannedFile, type PublicationManifest, RemoteFailure } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { collapse } from '../adapters/work.ts'
import type { Settings } from '../settings.ts'
import { BODY_FILE, CHECKSUMS_FILE, planFiles, ZENODO_FILE } from './content.ts'

export const MAX_STAGED_BYTES = 100 * 1024 * 1024
const MAX_JSON_BYTES = 4 * 1024 * 1024

/** File of the staging folder that was checked. `sha3_256` is the hash of what was read. */
export interface StagedFile extends PlannedFile {
  /** Path without symbolic links. */
  readonly path: string
}

export type StagingSettings = Pick<
  Settings,
  'staging_dir' | 'upload_allowlist' | 'verify_staging_checksums' | 'require_metadata_parity'
>

/**
 * Returns the files to upload from the staging folder, hashed and checked as the settings request; null without a staging
 * folder. Pass `sha3_256` on to the upload, so that a file that changes in between is not sent.
 *
 * Throws `RemoteFailure` with class `config` for missing, too large and foreign files, and with class `preflight` if
 * checksums, the title or the body differ.
 */
export async function stagedFiles(
  settings: StagingSettings,
  projectRoot: string,
  manifest: PublicationManifest,
  signal: AbortSignal
): Promise<readonly StagedFile[] | null> {
  const { staging_dir, upload_allowlist, verify_staging_checksums, require_metadata_parity } = settings
  if (staging_dir === undefined) return null
  const folder = await folderOf(resolve(projectRoot, staging_dir))
  const names = upload_allowlist.length === 0 ? planFiles(manifest) : new Set(upload_allowlist.map(relativeName))
  const files: StagedFile[] = []
  for (const name of names) files.push(await stagedFile(folder, name, signal))
  checkBody(files, manifest)
  if (verify_staging_checksums) checkChecksums(files, await readJson(folder, CHECKSUMS_FILE, signal))
  if (require_metadata_parity) checkTitle(await readJson(folder, ZENODO_FILE, signal), manifest)
  return files
}

/** Returns a name of the allow-list that stays inside of the folder. */
function relativeName(name: string): string {
  const trimmed = name.trim()
  const parts = trimmed.split('/')
  const isPlain = parts.every(part => part !== '' && part !== '.' && part !== '..')
  if (!isPlain || isAbsolute(trimmed) || /[\0\\:]/.test(trimmed))
    throw invalid(
      'staging_path',
      `upload_allowlist: ${JSON.stringify(name)} is not a relative path inside the staging folder`
    )
  return trimmed
}

async function folderOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    throw invalid(
      'staging_missing',
      `staging folder ${path}: ${errorMessage(error)}; write it with svc scholarly stage`
    )
  }
}

/** Reads a file once. */
async function stagedFile(folder: string, name: string, signal: AbortSignal): Promise<StagedFile> {
  const opened = await openInside(folder, name, MAX_STAGED_BYTES)
  if (opened === null)
    throw invalid(
      'staging_missing',
      `${join(folder, name)}: the file is missing; copy it there, or write it with svc scholarly stage`
    )
  const { handle, path } = opened
  try {
    const hash = createHash('sha3-256')
    let bytes = 0
    // The stream of a handle does not receive the signal: one that is aborted already would end the process with an unhandled error.
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      signal.throwIfAborted()
      bytes += (chunk as Buffer).length
      if (bytes > MAX_STAGED_BYTES) throw tooLarge(path, MAX_STAGED_BYTES)
      hash.update(chunk as Buffer)
    }
    return { name, path, bytes, sha3_256: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}

/** Opens a regular file whose real path is inside of the folder; null if it does not exist. */
async function openInside(
  folder: string,
  name: string,
  maxBytes: number
): Promise<{ readonly handle: FileHandle; readonly path: string } | null> {
  let path: string
  try {
    path = await realpath(join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw invalid('staging_unreadable', `${join(folder, name)}: ${errorMessage(error)}; check the file`)
  }
  if (!path.startsWith(folder + sep))
    throw invalid(
      'staging_path',
      `${join(folder, name)}: it leads outside of the staging folder; copy the file into it`
    )
  let handle: FileHandle | undefined
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (!stats.isFile()) throw invalid('staging_path', `${path}: it is not a regular file; remove it from the uploads`)
    if (stats.size > maxBytes) throw tooLarge(path, maxBytes)
    return { handle, path }
  } catch (error) {
    await handle?.close()
    if (error instanceof RemoteFailure) throw error
    throw invalid('staging_unreadable', `${path}: ${errorMessage(error)}; check the file`)
  }
}

async function readJson(folder: string, name: string, signal: AbortSignal): Promise<unknown> {
  const opened = await openInside(folder, name, MAX_JSON_BYTES)
  if (opened === null)
    throw invalid('staging_missing', `${join(folder, name)}: the file is missing; write it with svc scholarly stage`)
  try {
    return JSON.parse(await opened.handle.readFile({ encoding: 'utf8', signal }))
  } catch (error) {
    signal.throwIfAborted()
    throw invalid('staging_json', `${opened.path}: ${errorMessage(error)}; write it again with svc scholarly stage`)
  } finally {
    await opened.handle.close()
  }
}

/** The approvals are for the text of the publication, so another text must not be sent with them. */
function checkBody(files: readonly StagedFile[], { body_markdown, publication_id }: PublicationManifest): void {
  const body = files.find(({ name }) => name === BODY_FILE)
  if (body === undefined) return
  if (body.sha3_256 !== createHash('sha3-256').update(body_markdown).digest('hex'))
    throw differs('staging_body', `${body.path}: it differs from the body of ${publication_id}, which was approved`)
}

function checkChecksums(files: readonly StagedFile[], checksums: unknown): void {
  const { schema_version, sha3_256 } = (checksums ?? {}) as { schema_version?: unknown; sha3_256?: unknown }
  if (schema_version !== 1 || typeof sha3_256 !== 'object' || sha3_256 === null)
    throw differs('staging_checksums', `${CHECKSUMS_FILE}: it is not {"schema_version": 1, "sha3_256": {FILE: HEX}}`)
  for (const file of files) {
    const expected = Object.hasOwn(sha3_256, file.name) ? (sha3_256 as Record<string, unknown>)[file.name] : undefined
    if (typeof expected !== 'string')
      throw invalid(
        'staging_checksums',
        `${file.name}: ${CHECKSUMS_FILE} has no checksum of it; add its SHA3-256, which is ${file.sha3_256}`
      )
    if (expected.toLowerCase() !== file.sha3_256)
      throw differs(
        'staging_checksums',
        `${file.name}: its SHA3-256 is ${file.sha3_256}; ${CHECKSUMS_FILE} has ${expected}`
      )
  }
}

function checkTitle(zenodo: unknown, { title, publication_id }: PublicationManifest): void {
  const { title: own, metadata } = (zenodo ?? {}) as { title?: unknown; metadata?: { title?: unknown } | null }
  const staged = own ?? metadata?.title
  if (typeof staged !== 'string' || collapse(staged) !== collapse(title))
    throw differs(
      'staging_title',
      `${ZENODO_FILE}: its title is ${JSON.stringify(staged ?? null)}; that of ${publication_id} is ${JSON.stringify(collapse(title))}`
    )
}

function invalid(code: string, message: string): RemoteFailure {
  return new RemoteFailure(message, { failureClass: 'config', code })
}

function tooLarge(path: string, maxBytes: number): RemoteFailure {
  return invalid('staging_too_large', `${path}: larger than ${maxBytes} bytes; upload it in parts or leave it out`)
}

function differs(code: string, message: string): RemoteFailure {
  return new RemoteFailure(`${message}; write the folder again with svc scholarly stage`, {
    failureClass: 'preflight',
    code
  })
}
