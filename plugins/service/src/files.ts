import {
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { serviceErrors } from './errors.ts'
import { type Account, MARK } from './service.ts'

/** Returns the content of a service's file; null if there is none. Throws `SRV_FOREIGN_FILE` if svc did not write it. */
export function readOwn(file: string): string | null {
  if (!existsSync(file)) return null
  const content = changing(file, () => readFileSync(file, 'utf8'))
  if (content.includes(MARK)) return content
  throw serviceErrors.create('SRV_FOREIGN_FILE', `${file}: svc did not write this file, and leaves it as it is`, {
    hint: 'remove the file yourself, or choose another name with --name'
  })
}

/** Replaces the file in one step. */
export function replaceFile(file: string, content: string): void {
  changing(file, () => {
    mkdirSync(dirname(file), { recursive: true })
    const next = `${file}.next`
    writeFileSync(next, content, { mode: 0o644 })
    renameSync(next, file)
  })
}

export function removeFile(file: string): void {
  changing(file, () => rmSync(file, { force: true }))
}

/** Makes folders that the service may write, since it could not make them in a home folder that it may only read. */
export function makeFolders(folders: readonly string[], { uid, gid }: Pick<Account, 'uid' | 'gid'>): void {
  for (const folder of folders)
    changing(folder, () => {
      const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (first === undefined) return
      for (let path = folder; path.length >= first.length; path = dirname(path)) chownSync(path, uid, gid)
    })
}

/**
 * Gives root's files in the state folder of a project to the user of the service. A command that root runs leaves its cache
 * there, and the service could not write next to it.
 */
export function giveState(project: string, { uid, gid }: Pick<Account, 'uid' | 'gid'>): void {
  const state = join(project, '.vox')
  const cache = join(state, 'cache')
  changing(state, () => {
    const files = existsSync(cache) ? readdirSync(cache).map(name => join(cache, name)) : []
    // Never through a link, which another user may have made.
    for (const path of [state, cache, ...files])
      if (existsSync(path) && lstatSync(path).uid === 0) lchownSync(path, uid, gid)
  })
}

function changing<T>(file: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw serviceErrors.create('SRV_WRITE_FAILED', `${file}: ${errorMessage(error)}`, {
      hint: 'correct the permissions of the folder, or make room on the disk',
      cause: error
    })
  }
}
