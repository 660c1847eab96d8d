import { copyFile, mkdtemp, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { compilerErrors } from '../errors.ts'
import type { EmittedFile } from '../typescript/emitted-file.ts'
import { folderListText, hashOf, LIST_FILE, readFolderList } from './folder-list.ts'

export interface Written {
  /** Paths in the folder. Each list is sorted. */
  readonly written: readonly string[]
  readonly unchanged: readonly string[]
  readonly removed: readonly string[]
  /** Files that the build no longer writes, but that the user edited since the last build. */
  readonly kept: readonly string[]
}

/**
 * Writes the output of a build to a folder: all files or none. Replaces files of earlier builds, and removes those that
 * are no longer part of the output. Other files are not changed. A `scaffold` file is written only if its path is free
 * or contains a file of an earlier build. If another emitted file would overwrite a file of the user, throws
 * `CMP_BUILD_CONFLICT`. Also throws `CMP_FILE_UNWRITABLE`.
 */
export async function writeFolder(
  folder: string,
  files: readonly EmittedFile[],
  scaffold: readonly EmittedFile[]
): Promise<Written> {
  const before = await readFolderList(folder)
  const present = new Map<string, Buffer>()
  for (const path of [...files, ...scaffold].map(file => file.path).concat([...before.keys()])) {
    const content = await contentOf(join(folder, path))
    if (content !== null) present.set(path, content)
  }
  refuseForeign(folder, files, present, before)
  const isOwn = (path: string): boolean => hashOf(present.get(path) ?? '') === before.get(path)
  const first = scaffold.filter(({ path }) => !present.has(path) || isOwn(path))
  const changed = files.filter(({ path, text }) => present.get(path)?.equals(Buffer.from(text)) !== true)
  const emitted = new Set([...files, ...first].map(({ path }) => path))
  const old = [...before.keys()].filter(path => !emitted.has(path) && present.has(path))
  const removed = old.filter(isOwn)
  const list = folderListText(new Map(files.map(({ path, text }) => [path, hashOf(text)])))
  const isSameList = (await contentOf(join(folder, LIST_FILE)))?.equals(Buffer.from(list)) === true
  const writes = [...changed, ...first, ...(isSameList ? [] : [{ path: LIST_FILE, text: list }])]
  await replaceAll(folder, writes, removed)
  return {
    written: [...changed, ...first].map(({ path }) => path).sort(),
    unchanged: files.filter(file => !changed.includes(file)).map(({ path }) => path),
    removed: removed.sort(),
    kept: old.filter(path => !removed.includes(path)).sort()
  }
}

function refuseForeign(
  folder: string,
  files: readonly EmittedFile[],
  present: ReadonlyMap<string, Buffer>,
  before: ReadonlyMap<string, string>
): void {
  const foreign = files.find(({ path, text }) => {
    const content = present.get(path)
    return content !== undefined && !before.has(path) && !content.equals(Buffer.from(text))
  })
  if (foreign === undefined) return
  const path = join(folder, foreign.path)
  throw compilerErrors.create(
    'CMP_BUILD_CONFLICT',
    `${path} is not a file of an earlier build, and would be overwritten`,
    {
      hint: 'move the file, or build into another folder with -o; nothing was written',
      at: { file: path }
    }
  )
}

/** Replaces files. New files are complete before the first rename; if a step fails, the old files are restored. */
async function replaceAll(folder: string, writes: readonly EmittedFile[], removed: readonly string[]): Promise<void> {
  if (writes.length === 0 && removed.length === 0) return
  const undo: (() => Promise<void>)[] = []
  let stage: string | null = null
  try {
    makeFolder(folder)
    stage = await mkdtemp(join(folder, '.vox-build-'))
    for (const [index, { text }] of writes.entries()) await writeFile(join(stage, `${index}.new`), text)
    for (const path of new Set([...writes.map(each => each.path), ...removed])) {
      const [from, to] = [join(folder, path), join(stage, `${undo.length}.old`)]
      if ((await contentOf(from)) === null) undo.push(() => rm(from, { force: true }))
      else {
        await copyFile(from, to)
        undo.push(() => rename(to, from))
      }
    }
    for (const [index, { path }] of writes.entries()) {
      makeFolder(dirname(join(folder, path)))
      await rename(join(stage, `${index}.new`), join(folder, path))
    }
    for (const path of removed) await rm(join(folder, path))
  } catch (cause) {
    for (const step of undo) await step().catch(() => {})
    const reason = errorMessage(cause)
    throw compilerErrors.create('CMP_FILE_UNWRITABLE', `${folder} cannot be written: ${reason}`, {
      hint: 'make the folder writable, or build into another one with -o; nothing was changed',
      at: { file: folder },
      cause
    })
  } finally {
    if (stage !== null) await rm(stage, { recursive: true, force: true }).catch(() => {})
  }
  for (const path of removed) await removeEmpty(folder, dirname(path))
}

/** Returns the content of a file; null if it does not exist. */
async function contentOf(path: string): Promise<Buffer | null> {
  return await readFile(path).catch(() => null)
}

async function removeEmpty(folder: string, path: string): Promise<void> {
  if (path === '.' || path === '') return
  const isGone = await rmdir(join(folder, path)).then(
    () => true,
    () => false
  )
  if (isGone) await removeEmpty(folder, dirname(path))
}
