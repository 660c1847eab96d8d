import type { Dirent } from 'node:fs'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withFileLock } from '@svc/contracts'
import { PULL_RECORD } from '../defaults/layer-files.ts'
import { errors } from '../errors.ts'
import type { RemoteFile } from './download.ts'

/** Subfolder of the folder of models. */
export const UNFINISHED = '.unfinished'

export type RecordedFile = Pick<RemoteFile, 'name' | 'size' | 'digest'>

/** Record in the folder of a model that is being pulled, or was. */
export interface PullRecord {
  /** Name of the model. */
  readonly model?: string
  /** Name or URL that is pulled, without its query. */
  readonly from?: string
  /** Bytes of all files; null if unknown. */
  readonly total?: number | null
  /** Files that are complete. */
  readonly files: readonly RecordedFile[]
}

/** Download that was interrupted, or that runs. */
export interface UnfinishedPull {
  readonly model: string
  readonly from: string
  readonly folder: string
  /** Bytes on disk. */
  readonly bytes: number
  /** Bytes of all files; null if unknown. */
  readonly total: number | null
  readonly changedAt: Date
}

/** Replaces the record in one step, so that an end of the process leaves the old or the new one. */
export async function writeRecord(folder: string, record: PullRecord): Promise<void> {
  const draft = join(folder, `${PULL_RECORD}.new`)
  await writeFile(draft, JSON.stringify({ version: 1, ...record }))
  await rename(draft, join(folder, PULL_RECORD))
}

/** Returns the record of a folder; null if there is no valid one. */
export async function readRecord(folder: string): Promise<PullRecord | null> {
  try {
    const record = JSON.parse(await readFile(join(folder, PULL_RECORD), 'utf8')) as PullRecord
    return Array.isArray(record.files) ? record : null
  } catch {
    return null
  }
}

/** Returns the downloads in a folder of models that are not complete, by name. Copies are left out: they cannot be continued. */
export async function unfinishedPulls(models: string): Promise<readonly UnfinishedPull[]> {
  const found = await Promise.all(
    (await foldersOf(models)).map(async folder => {
      const record = await readRecord(folder)
      if (record?.model === undefined) return []
      const { model, from = model, total = null } = record
      return [{ model, from, folder, total, ...(await contentOf(folder)) }]
    })
  )
  return found.flat().toSorted((a, b) => (a.model < b.model ? -1 : 1))
}

/**
 * Deletes an unfinished download. Returns its folder, or null if there is none. Throws `MSV_PULL_RUNNING` while a process
 * downloads it.
 */
export async function discardUnfinished(models: string, name: string, model: string): Promise<string | null> {
  const folder = join(models, UNFINISHED, name)
  if ((await stat(folder).catch(() => null)) === null) return null
  await locked(folder, model, () => remove(folder))
  return folder
}

/** Deletes unfinished downloads and remains of failed ones that have not changed for `ageMs`, unless they run. */
export async function discardOld(models: string, ageMs: number): Promise<readonly string[]> {
  const deleted: string[] = []
  for (const folder of await foldersOf(models)) {
    const isOld = async (): Promise<boolean> => (await contentOf(folder)).changedAt.getTime() < Date.now() - ageMs
    if (!(await isOld())) continue
    const model = (await readRecord(folder))?.model ?? folder
    const removal = locked(folder, model, async () => {
      // Another process may have continued it.
      if (await isOld()) deleted.push(await remove(folder))
    })
    await removal.catch((error: { readonly code?: unknown }) => {
      if (error.code !== 'MSV_PULL_RUNNING') throw error
    })
  }
  return deleted
}

/** Runs a function while no other process works on the download of a model. Throws `MSV_PULL_RUNNING`. */
export async function locked<A>(
  folder: string,
  model: string,
  run: () => Promise<A>,
  signal?: AbortSignal
): Promise<A> {
  const busy = () =>
    errors.create('MSV_PULL_RUNNING', `the model '${model}' is being pulled already`, {
      hint: 'Wait for the other download, or end it first.'
    })
  return withFileLock(`${folder}.lock`, run, { waitMs: 0, busy, signal })
}

async function remove(folder: string): Promise<string> {
  for (const each of [folder, `${folder}.old`]) await rm(each, { recursive: true, force: true })
  return folder
}

async function foldersOf(models: string): Promise<readonly string[]> {
  const root = join(models, UNFINISHED)
  const entries = await readdir(root, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => join(root, name))
}

async function contentOf(folder: string): Promise<{ readonly bytes: number; readonly changedAt: Date }> {
  const names = await readdir(folder).catch((): string[] => [])
  const states = await Promise.all(
    names.map(async name => ({ name, state: await stat(join(folder, name)).catch(() => null) }))
  )
  const own = (await stat(folder).catch(() => null))?.mtimeMs ?? 0
  const times = states.map(({ state }) => state?.mtimeMs ?? 0)
  const files = states.filter(({ name }) => !name.startsWith('.') && !name.endsWith('.partial.json'))
  return {
    bytes: files.reduce((sum, { state }) => sum + (state?.size ?? 0), 0),
    changedAt: new Date(Math.max(own, ...times))
  }
}
