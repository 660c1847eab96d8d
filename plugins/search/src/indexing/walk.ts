import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { protection } from '@svc/contracts'
import { IgnoreRules } from './ignore-rules.ts'
import type { CheckReply, CheckRequest, FileStat, SkipReason, WalkReply, WalkRequest } from './protocol.ts'

/**
 * Lists the files of a project that git does not ignore, at most `maxFiles`, folder by folder. Links are not followed,
 * so loops are not entered. Protected files are omitted. Runs in a thread, since rules of the project may be slow.
 */
export function walk(request: WalkRequest, step: () => void): WalkReply {
  const { root, maxFiles } = request
  const skipDirs = new Set(request.skipDirs)
  const rules = new IgnoreRules(root)
  const files: FileStat[] = []
  const read: string[] = []
  const skipped: Partial<Record<SkipReason, number>> = {}
  const skip = (reason: SkipReason): void => {
    skipped[reason] = (skipped[reason] ?? 0) + 1
  }
  const folders = [request.folder]
  for (let at = 0; at < folders.length; at++) {
    const folder = folders[at] ?? ''
    step()
    let entries: Dirent[]
    try {
      entries = readdirSync(join(root, folder), { withFileTypes: true })
    } catch {
      skip(folder === request.folder || exists(join(root, folder)) ? 'unreadable' : 'gone')
      continue
    }
    read.push(folder)
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      step()
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      const reason = reasonAgainst(path, entry, skipDirs, rules)
      if (reason !== null) {
        skip(reason)
      } else if (entry.isDirectory()) {
        folders.push(path)
      } else {
        const found = statOf(root, path)
        if (found === null) skip('gone')
        else if (files.length === maxFiles) return { files, folders: read, skipped, truncated: true }
        else files.push(found)
      }
    }
  }
  return { files, folders: read, skipped, truncated: false }
}

/** Finds out whether paths, whose files have changed, are files or folders of the index. */
export function check({ root, paths, skipDirs: skipped }: CheckRequest, step: () => void): CheckReply {
  const skipDirs = new Set(skipped)
  const rules = new IgnoreRules(root)
  const checked = paths.map(path => {
    step()
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/')
      const entry = entryOf(root, folder)
      if (entry === null || !entry.isDirectory() || reasonAgainst(folder, entry, skipDirs, rules) !== null) return null
    }
    const entry = entryOf(root, path)
    if (entry === null || reasonAgainst(path, entry, skipDirs, rules) !== null) return null
    return entry.isDirectory() ? ('folder' as const) : statOf(root, path)
  })
  return {
    kinds: checked.map(found => (found === null ? 'other' : found === 'folder' ? 'folder' : 'file')),
    stats: checked.map(found => (found === 'folder' ? null : found))
  }
}

type Entry = Pick<Dirent, 'name' | 'isDirectory' | 'isFile' | 'isSymbolicLink'>

function reasonAgainst(
  path: string,
  entry: Entry,
  skipDirs: ReadonlySet<string>,
  rules: IgnoreRules
): SkipReason | null {
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isDirectory() && skipDirs.has(entry.name)) return 'ignored'
  if (!entry.isDirectory() && !entry.isFile()) return 'not_a_file'
  if (protection(path) !== null) return 'protected'
  return rules.ignores(path, entry.isDirectory()) ? 'ignored' : null
}

function entryOf(root: string, path: string): Entry | null {
  try {
    const found = lstatSync(join(root, path))
    return {
      name: basename(path),
      isDirectory: () => found.isDirectory(),
      isFile: () => found.isFile(),
      isSymbolicLink: () => found.isSymbolicLink()
    }
  } catch {
    return null
  }
}

function statOf(root: string, path: string): FileStat | null {
  try {
    const { size, mtimeMs } = lstatSync(join(root, path))
    return { path, size, mtimeMs }
  } catch {
    return null
  }
}

function exists(path: string): boolean {
  return entryOf(dirname(path), basename(path)) !== null
}
