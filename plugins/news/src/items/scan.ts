import type { Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inProject, readProjectFile } from '@svc/contracts'
import { newsErrors } from '../errors.ts'
import type { ItemProblem, NewsItem } from './item.ts'
import { type KnownChannels, readItem } from './read-item.ts'

const MAX_FILES = 10_000
const MAX_DEPTH = 32
const MAX_FILE_BYTES = 512 * 1024

export interface ScanOptions {
  readonly projectRoot: string
  /** Relative to the project. */
  readonly folder: string
  readonly recursive: boolean
  readonly channels: KnownChannels
  readonly signal: AbortSignal
}

export interface ScanResult {
  /** Items without problems, newest first. */
  readonly items: readonly NewsItem[]
  readonly problems: readonly ItemProblem[]
  readonly files: number
}

/**
 * Reads all Markdown files of the folder, at most 10,000, and gives way to other work after each. A missing folder has
 * no items. Symbolic links that leave the project are problems. Throws `NEWS_FOLDER_REFUSED`.
 */
export async function scanItems(options: ScanOptions): Promise<ScanResult> {
  const { projectRoot, folder, recursive, channels, signal } = options
  const problems: ItemProblem[] = []
  const root = await rootOf(projectRoot, folder)
  const paths = root === null ? [] : await markdownFiles(projectRoot, root, recursive, signal)
  const found: NewsItem[] = []
  for (const path of paths) {
    signal.throwIfAborted()
    const read = await readProjectFile(projectRoot, path, MAX_FILE_BYTES)
    if ('refused' in read) {
      problems.push(invalid(path, read.refused, 'remove the file or the link'))
    } else if (read.truncated) {
      problems.push(invalid(path, `the file is larger than ${MAX_FILE_BYTES / 1024} KiB`, 'shorten it'))
    } else {
      const { item, problems: own } = readItem(read.text, path, channels)
      if (item === null) problems.push(...own)
      else found.push(item)
    }
    await nextTurn()
  }
  const items = withoutDuplicates(found, problems)
  items.sort((a, b) => b.publishedAt.localeCompare(a.publishedAt) || a.id.localeCompare(b.id))
  return { items, problems, files: paths.length }
}

/** Returns the folder's path in the project; null if it does not exist. */
async function rootOf(projectRoot: string, folder: string): Promise<string | null> {
  const refuse = (problem: string) =>
    newsErrors.create('NEWS_FOLDER_REFUSED', `news_dir ${folder}: ${problem}`, {
      hint: 'set news.news_dir to a folder inside the project',
      at: { path: 'news.news_dir' }
    })
  const [project, wanted] = [await realpath(projectRoot), resolve(projectRoot, folder)]
  const shown = inProject(projectRoot, wanted)
  if (shown === null) throw refuse('the folder is outside the project')
  let real: string
  try {
    real = await realpath(wanted)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw refuse('the folder cannot be read')
  }
  if (inProject(project, real) === null) throw refuse('a symbolic link leads out of the project')
  return shown
}

async function markdownFiles(
  projectRoot: string,
  root: string,
  recursive: boolean,
  signal: AbortSignal
): Promise<string[]> {
  const files: string[] = []
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: root, depth: 0 }]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    signal.throwIfAborted()
    const { path, depth } = folder
    let entries: Dirent[]
    try {
      entries = await readdir(resolve(projectRoot, path), { withFileTypes: true })
    } catch (error) {
      if (depth > 0) continue
      throw newsErrors.create('NEWS_FOLDER_REFUSED', `news_dir ${path}: the folder cannot be read`, { cause: error })
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue
      const child = `${path}/${entry.name}`
      if (entry.isDirectory() && recursive && depth < MAX_DEPTH) waiting.push({ path: child, depth: depth + 1 })
      else if (/\.(md|markdown)$/i.test(entry.name) && !entry.isDirectory()) files.push(child)
    }
    if (files.length > MAX_FILES) {
      throw newsErrors.create('NEWS_FOLDER_REFUSED', `news_dir ${root}: more than ${MAX_FILES} Markdown files`, {
        hint: 'set news.news_dir to a folder that contains only news'
      })
    }
  }
  return files.sort()
}

/** Removes all items whose id occurs twice: which of them is meant cannot be known. */
function withoutDuplicates(items: readonly NewsItem[], problems: ItemProblem[]): NewsItem[] {
  const files = new Map<string, string[]>()
  // Addresses of items are file names, which some systems compare without case.
  const key = ({ id }: NewsItem): string => id.toLowerCase()
  for (const item of items) files.set(key(item), [...(files.get(key(item)) ?? []), item.file])
  return items.filter(item => {
    const others = files.get(key(item))?.filter(file => file !== item.file) ?? []
    if (others.length === 0) return true
    const message = `id: "${item.id}" is also the id of ${others.join(', ')}`
    problems.push({ code: 'NEWS_ID_DUPLICATE', file: item.file, line: 1, message, hint: 'give each item its own id' })
    return false
  })
}

function invalid(file: string, message: string, hint: string): ItemProblem {
  return { code: 'NEWS_ITEM_INVALID', file, line: 1, message, hint }
}
