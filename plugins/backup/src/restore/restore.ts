import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, statfs, utimes } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import {
  type BackupPart,
  finishRestore,
  RESTORE_FOLDER,
  type RestoreJournal,
  type RestoreRoots,
  type RestoreStep,
  restoreJournalPath,
  stagedPath,
  withFileLock
} from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import type { Keys } from '../age/keys.ts'
import { collect, type SourceFile } from '../archive/collect.ts'
import type { Databases } from '../archive/databases.ts'
import type { ArchiveFile, Manifest } from '../archive/manifest.ts'
import { readArchive } from '../archive/read.ts'
import type { TarFile } from '../archive/tar.ts'
import { checkDatabase } from '../archive/verify.ts'
import { backupErrors, fileError } from '../errors.ts'
import { assertNotServed } from './served.ts'

/** Free space that a restore leaves on the disk. */
const RESERVE_BYTES = 16_777_216
const SMALL_BYTES = 1_048_576
const RESTORED_EXTERNAL = 'restored'

export interface RestoreOptions {
  readonly file: string
  readonly keys: Keys
  readonly roots: RestoreRoots
  /** Parts that check and take over their exported files, and say what a restore leaves in place. */
  readonly parts: readonly BackupPart[]
  readonly include: readonly string[]
  readonly withKeys: boolean
  readonly force: boolean
  readonly dryRun: boolean
  readonly databases: Databases
  readonly onFile: (path: string) => void
  readonly signal: AbortSignal
}

export interface Restored {
  readonly project: string
  readonly created_at: string
  readonly svc_version: string
  readonly files: number
  readonly databases: number
  /** Files of the project that the restore replaces or moves away. */
  readonly replaced: number
  /** Folder of the replaced files; null if there were none. */
  readonly kept: string | null
  /** Files that were outside of the project, with their earlier paths. */
  readonly external: readonly { readonly file: string; readonly origin: string }[]
  /** Parts in the archive that no plugin takes over. */
  readonly parts_left_out: readonly string[]
  readonly dry_run: boolean
}

interface Staged {
  readonly manifest: Manifest
  readonly steps: readonly RestoreStep[]
  readonly external: Restored['external']
  readonly databases: number
  readonly replaced: number
  readonly partsLeftOut: readonly string[]
}

/**
 * Restores an archive: unpacks and checks it in a folder of the project, and then replaces the files. A kill at any
 * point leaves the old state, or the new one once the next command of svc has finished the journal. Replaced files are
 * kept. Throws `BKP_…`; the project is then unchanged.
 */
export async function restoreArchive(options: RestoreOptions): Promise<Restored> {
  const { file, roots, dryRun, signal } = options
  await mkdir(roots.project, { recursive: true })
  const lock = join(roots.project, `${RESTORE_FOLDER}.lock`)
  const busy = (): Error =>
    backupErrors.create('BKP_BUSY', `another process restores ${roots.project}`, { hint: 'wait until it ends' })
  return withFileLock(lock, run, { waitMs: 0, busy })

  async function run(): Promise<Restored> {
    await finishRestore(roots)
    await assertNotServed(roots)
    const existing = (await existingFiles(options)).filter(({ origin }) => origin === null)
    if (existing.length > 0 && !options.force && !dryRun) throw notEmpty(roots.project, existing)
    try {
      const staged = await stage(options, existing)
      const { manifest, steps, external, databases, replaced, partsLeftOut } = staged
      let kept: string | null = null
      if (!dryRun) {
        await importParts(options, manifest)
        signal.throwIfAborted()
        await assertNotServed(roots)
        await writeJournal(roots, steps)
        kept = await finishRestore(roots)
      }
      return {
        project: roots.project,
        created_at: manifest.created_at,
        svc_version: manifest.svc_version,
        files: steps.filter(({ action }) => action === 'replace').length,
        databases,
        replaced,
        kept: replaced === 0 ? null : kept,
        external,
        parts_left_out: partsLeftOut,
        dry_run: dryRun
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : fileError(error, file)
    } finally {
      // A journal that could not be finished stays for the next command.
      if (!(await exists(restoreJournalPath(roots.project))))
        for (const root of [roots.project, roots.state])
          await rm(join(root, RESTORE_FOLDER), { recursive: true, force: true })
    }
  }
}

async function existingFiles({ roots, parts, include, signal }: RestoreOptions): Promise<readonly SourceFile[]> {
  const { project: projectRoot, state: stateRoot } = roots
  const all = { secretFiles: new Set<string>(), withKeys: true }
  return (await collect({ projectRoot, stateRoot, parts, include, ...all, signal })).files
}

async function stage(options: RestoreOptions, existing: readonly SourceFile[]): Promise<Staged> {
  const { file, keys, roots, withKeys, databases, parts, signal } = options
  for (const root of [roots.project, roots.state]) {
    await rm(join(root, RESTORE_FOLDER), { recursive: true, force: true })
    makePrivateFolder(join(root, RESTORE_FOLDER))
  }
  const onFile = async (found: TarFile, pieces: AsyncIterable<Buffer>): Promise<void> => {
    options.onFile(found.path)
    await writeStaged(found, pieces, targetOf(roots, found.path).staged, signal)
  }
  const manifest = await readArchive(file, keys, { onFile }, signal)
  const wanted = manifest.files.filter(each => withKeys || !each.keys)
  for (const each of manifest.files) if (!wanted.includes(each)) await rm(targetOf(roots, each.path).staged)
  const placed = wanted.flatMap(each => {
    const { root, path } = targetOf(roots, each.path)
    return root === null ? [] : [{ ...each, root, path }]
  })
  let count = 0
  for (const { path, root, kind } of placed) {
    if (kind !== 'sqlite') continue
    signal.throwIfAborted()
    const staged = stagedPath(roots, root, path)
    await checkDatabase(databases, staged, path)
    for (const suffix of ['-wal', '-shm']) await rm(`${staged}${suffix}`, { force: true })
    count += 1
  }
  if (!placed.some(({ root, path }) => root === 'project' && path === 'svc.toml') && !existing.some(isProjectFile))
    placed.push(await emptyProjectFile(roots))
  const partsLeftOut = await checkParts(options, manifest, parts)
  const { steps, replaced } = await stepsOf(placed, existing, roots, withKeys && manifest.with_keys)
  const external = placed.flatMap(({ origin, root, path }) =>
    origin === null || origin === undefined ? [] : [{ file: join(roots[root], path), origin }]
  )
  return { manifest, steps, external, databases: count, replaced, partsLeftOut }
}

function isProjectFile({ path }: SourceFile): boolean {
  return path === 'project/svc.toml'
}

/** Without `svc.toml`, svc would look for the state of the folder elsewhere. */
async function emptyProjectFile(roots: RestoreRoots): Promise<ArchiveFile & { root: 'project' }> {
  const staged = stagedPath(roots, 'project', 'svc.toml')
  await mkdir(dirname(staged), { recursive: true })
  await (await open(staged, 'wx', 0o644)).close()
  const file = { bytes: 0, sha256: '', kind: 'file', part: null, keys: false, origin: null } as const
  return { ...file, path: 'svc.toml', root: 'project' }
}

/** Returns where a file of the archive goes. `root`: null for what a part wrote. */
function targetOf(roots: RestoreRoots, archived: string) {
  const [top, ...rest] = archived.split('/')
  const path = rest.join('/')
  if (top === 'project') return { root: 'project' as const, path, staged: stagedPath(roots, 'project', path) }
  if (top === 'parts') return { root: null, path, staged: join(roots.state, RESTORE_FOLDER, 'parts', path) }
  const inState = top === 'state' ? path : `${RESTORED_EXTERNAL}/${path}`
  return { root: 'state' as const, path: inState, staged: stagedPath(roots, 'state', inState) }
}

async function writeStaged(
  { path, bytes, mode, modified }: TarFile,
  pieces: AsyncIterable<Buffer>,
  staged: string,
  signal: AbortSignal
): Promise<void> {
  await mkdir(dirname(staged), { recursive: true, mode: 0o700 })
  if (bytes > SMALL_BYTES) {
    const { bavail, bsize } = await statfs(dirname(staged))
    if (bytes + RESERVE_BYTES > bavail * bsize)
      throw backupErrors.create('BKP_DISK_FULL', `${path} has ${bytes} bytes, and the disk ${bavail * bsize} free`, {
        hint: 'free space, or restore to another disk with --to FOLDER; nothing was changed'
      })
  }
  const output = createWriteStream(staged, { flags: 'wx', mode: (mode & 0o777) | 0o600, flush: true })
  await pipeline(pieces, output, { signal })
  await utimes(staged, new Date(), new Date(modified))
}

/** Returns the names of parts in the archive that no plugin takes over. Throws what a part finds wrong. */
async function checkParts(
  { roots, withKeys, signal }: RestoreOptions,
  manifest: Manifest,
  parts: readonly BackupPart[]
): Promise<string[]> {
  const left: string[] = []
  for (const name of exportedParts(manifest)) {
    const part = parts.find(each => each.name === name)
    if (part?.import === undefined || (part.kind === 'keys' && !withKeys)) left.push(name)
    else await asConflict(name, async () => part.check?.(partFolder(roots, name), signal))
  }
  return left
}

async function importParts({ roots, parts, withKeys, signal }: RestoreOptions, manifest: Manifest): Promise<void> {
  for (const name of exportedParts(manifest)) {
    const part = parts.find(each => each.name === name)
    if (part?.import === undefined || (part.kind === 'keys' && !withKeys)) continue
    await asConflict(name, async () => part.import?.(partFolder(roots, name), signal))
  }
}

async function asConflict(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (isSvcError(error)) throw error
    throw backupErrors.create('BKP_PART_CONFLICT', `the part ${name} cannot be restored: ${errorMessage(error)}`, {
      cause: error
    })
  }
}

function partFolder({ state }: RestoreRoots, name: string): string {
  return join(state, RESTORE_FOLDER, 'parts', name)
}

function exportedParts({ files }: Manifest): Set<string> {
  return new Set(files.flatMap(({ path }) => (path.startsWith('parts/') ? [path.split('/')[1] ?? ''] : [])))
}

async function stepsOf(
  placed: readonly (ArchiveFile & Pick<RestoreStep, 'root'>)[],
  existing: readonly SourceFile[],
  roots: RestoreRoots,
  withKeys: boolean
): Promise<{ readonly steps: RestoreStep[]; readonly replaced: number }> {
  const replaces = placed.map(({ root, path }): RestoreStep => ({ root, action: 'replace', path }))
  const known = new Set(replaces.map(({ root, path }) => `${root}/${path}`))
  const removes: RestoreStep[] = []
  let replaced = 0
  for (const { path: archived, kind, keys } of existing) {
    const [root, ...rest] = archived.split('/') as [RestoreStep['root'], ...string[]]
    const path = rest.join('/')
    const isReplaced = known.has(archived)
    // Programs and settings that are newer than the backup stay, and so do keys that the backup does not have.
    const isRemoved = !isReplaced && root === 'state' && (withKeys || !keys)
    if (!isReplaced && !isRemoved) continue
    replaced += 1
    if (isRemoved) removes.push({ root, action: 'remove', path })
    if (kind !== 'sqlite') continue
    for (const suffix of ['-wal', '-shm', '-journal'])
      if (await exists(join(roots[root], `${path}${suffix}`)))
        removes.push({ root, action: 'remove', path: `${path}${suffix}` })
  }
  return { steps: [...removes, ...replaces], replaced }
}

/** Writes the journal, from which on the restore counts. */
async function writeJournal(roots: RestoreRoots, steps: readonly RestoreStep[]): Promise<void> {
  const path = restoreJournalPath(roots.project)
  const replaced = new Date().toISOString().replaceAll(/[:.]/g, '')
  const way = relative(roots.project, roots.state)
  const isInside = !isAbsolute(way) && way.split(sep)[0] !== '..'
  const state_folder = isInside ? way.split(sep).join('/') : null
  const journal: RestoreJournal = { version: 1, state_folder, replaced, steps }
  for (const root of [roots.project, roots.state]) await syncFolders(join(root, RESTORE_FOLDER))
  const handle = await open(`${path}.part`, 'w', 0o600)
  try {
    await handle.writeFile(JSON.stringify(journal))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.part`, path)
  await syncFolder(dirname(path))
}

async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name))
  await syncFolder(folder)
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

async function exists(path: string): Promise<boolean> {
  return open(path, 'r').then(
    handle => handle.close().then(() => true),
    () => false
  )
}

function notEmpty(project: string, existing: readonly SourceFile[]): Error {
  const [first] = existing
  const more = existing.length === 1 ? '' : ` and ${existing.length - 1} more`
  return backupErrors.create('BKP_EXISTS', `${project} is not empty: it has ${first?.path}${more}`, {
    hint: 'add --force to replace its state, which is kept in before-restore of the state folder; or use --to FOLDER'
  })
}
