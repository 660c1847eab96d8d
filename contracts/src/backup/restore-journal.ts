import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { withFileLock } from '../process/file-lock.ts'
import { restoreErrors } from './errors.ts'

/** Folder of a restore in the project and in the state folder: `new` holds the staged files. */
export const RESTORE_FOLDER = '.svc-restore'
/** Folder of replaced files in the state folder. */
export const REPLACED_FOLDER = 'before-restore'
const JOURNAL = 'journal.json'
const LOCK_WAIT_MS = 60_000

/** Root that the path of a step is relative to. */
export type RestoreRoot = 'project' | 'state'

export interface RestoreStep {
  readonly root: RestoreRoot
  /** `replace`: the staged file becomes the file. `remove`: the file does not belong to the restored state. */
  readonly action: 'replace' | 'remove'
  /** Relative path with slashes. */
  readonly path: string
}

/**
 * Redo journal of a restore. Once it is written, the restore counts: whichever process comes next finishes it, so that
 * a kill at any point leaves the old state or the new one.
 */
export interface RestoreJournal {
  readonly version: 1
  /** Path of the state folder, relative to the project; null if it is elsewhere. */
  readonly state_folder: string | null
  /** Name of the folder of replaced files below {@link REPLACED_FOLDER}. */
  readonly replaced: string
  readonly steps: readonly RestoreStep[]
}

export interface RestoreRoots {
  readonly project: string
  readonly state: string
}

/** Path of the journal of a project. */
export function restoreJournalPath(project: string): string {
  return join(project, RESTORE_FOLDER, JOURNAL)
}

/** Path of a staged file. */
export function stagedPath(roots: RestoreRoots, root: RestoreRoot, path: string): string {
  return join(roots[root], RESTORE_FOLDER, 'new', root, path)
}

/**
 * Carries out the steps of a journal, if there is one. Returns the folder of the replaced files; null without a
 * journal. Throws `BKR_JOURNAL_INVALID`, `BKR_BUSY` and errors of the file system; the next call then continues.
 */
export async function finishRestore(roots: RestoreRoots): Promise<string | null> {
  const path = restoreJournalPath(roots.project)
  // toestub-ignore(scaling/blocking-in-async) - one look before anything is served
  if (!existsSync(path)) return null
  const busy = (): Error =>
    restoreErrors.create('BKR_BUSY', `${roots.project}: another process finishes a restore`, { hint: 'try again' })
  return withFileLock(`${path}.lock`, () => apply(roots, path), { waitMs: LOCK_WAIT_MS, busy })
}

function apply({ project, ...given }: RestoreRoots, path: string): string | null {
  if (!existsSync(path)) return null
  const { state_folder, replaced, steps } = parse(readFileSync(path, 'utf8'), path)
  const roots = { project, state: state_folder === null ? given.state : join(project, state_folder) }
  const aside = join(roots.state, REPLACED_FOLDER, replaced)
  const folders = new Set<string>()
  // Files that go first: a log of a replaced database must not be applied to the restored one.
  for (const step of steps) if (step.action === 'remove') carryOut(step)
  for (const step of steps) if (step.action === 'replace') carryOut(step)
  for (const folder of folders) syncFolder(folder)
  rmSync(path)
  syncFolder(dirname(path))
  for (const root of [roots.state, roots.project]) rmSync(join(root, RESTORE_FOLDER), { recursive: true, force: true })
  return aside

  function carryOut({ root, action, path: name }: RestoreStep): void {
    const target = join(roots[root], name)
    const kept = join(aside, root, name)
    assertNoLinks(roots[root], name, path)
    if (action === 'remove') {
      if (!existsSync(target) || existsSync(kept)) return
      makePrivateFolder(dirname(kept))
      moveFile(target, kept)
    } else {
      const staged = stagedPath(roots, root, name)
      if (!existsSync(staged)) return
      makePrivateFolder(dirname(target))
      if (existsSync(target) && !existsSync(kept)) {
        makePrivateFolder(dirname(kept))
        keepCopy(target, kept)
      }
      renameSync(staged, target)
    }
    folders.add(dirname(target)).add(dirname(kept))
  }
}

/** Throws if a folder on the way to a file is a link, which would lead out of the root. */
function assertNoLinks(root: string, name: string, journal: string): void {
  let folder = root
  for (const part of name.split('/')) {
    folder = join(folder, part)
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue
    throw invalid(journal, `${folder} is a link`)
  }
}

/** Keeps a replaced file without a moment in which its path has no file. */
function keepCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    // Another file system, or one without hard links.
    const part = `${to}.part`
    copyFileSync(from, part, constants.COPYFILE_FICLONE)
    renameSync(part, to)
  }
}

function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    keepCopy(from, to)
    unlinkSync(from)
  }
}

function syncFolder(folder: string): void {
  if (process.platform === 'win32' || !existsSync(folder)) return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function parse(text: string, path: string): RestoreJournal {
  let value: Partial<RestoreJournal> | null = null
  try {
    value = JSON.parse(text)
  } catch {
    // Reported below.
  }
  const { version, state_folder, replaced, steps } = value ?? {}
  const isInside = typeof state_folder === 'string' && isSafe(state_folder)
  if (version !== 1 || (state_folder !== null && !isInside)) throw invalid(path, 'it is not a journal of this version')
  if (typeof replaced !== 'string' || !isSafe(replaced) || !Array.isArray(steps))
    throw invalid(path, 'it is incomplete')
  for (const { root, action, path: name } of steps as RestoreStep[]) {
    const isKnown = (root === 'project' || root === 'state') && (action === 'replace' || action === 'remove')
    if (!isKnown || typeof name !== 'string' || !isSafe(name)) throw invalid(path, 'a step leaves its folder')
  }
  return { version, state_folder: state_folder as string | null, replaced, steps }
}

function isSafe(name: string): boolean {
  return name.split('/').every(part => part !== '' && part !== '.' && part !== '..' && !part.includes('\\'))
}

function invalid(path: string, why: string): Error {
  return restoreErrors.create('BKR_JOURNAL_INVALID', `${path}: ${why}`, {
    at: { file: path },
    hint: `run svc restore again after you removed ${dirname(path)}`
  })
}
