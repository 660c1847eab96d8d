import { type FileHandle, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { inProject, withFileLock } from '@svc/contracts'
import { newsErrors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import { emptyFeed, entriesOf, type FeedEntry, type FoundEntry, withEntries } from './feed-xml.ts'

const LOCK_WAIT_MS = 10_000

type FeedSettings = Pick<Settings, 'rss_feed_path' | 'rss_title' | 'rss_description' | 'site_base_url'>

/** The feed file of a project. Methods throw `NEWS_FEED_INVALID`. */
export class FeedFile {
  readonly #projectRoot: string
  readonly #settings: () => FeedSettings
  readonly #now: () => number

  constructor(projectRoot: string, settings: () => FeedSettings, now: () => number = Date.now) {
    this.#projectRoot = projectRoot
    this.#settings = settings
    this.#now = now
  }

  /** Returns the entries in their order; null if the file does not exist. */
  async read(): Promise<readonly FoundEntry[] | null> {
    const text = await textOf(await this.#path(false))
    return text === null ? null : entriesOf(text)
  }

  /**
   * Adds entries, or replaces those with their ids. Other processes wait. The file is replaced as a whole, and durable
   * when the promise resolves. Returns whether it changed. Throws `NEWS_FEED_BUSY`, too.
   */
  async update(entries: readonly FeedEntry[], signal?: AbortSignal): Promise<boolean> {
    const file = await this.#path(true)
    const busy = () =>
      newsErrors.create('NEWS_FEED_BUSY', `${this.#settings().rss_feed_path}: another process writes the feed`, {
        hint: `try again; if no svc runs, remove ${basename(file)}.lock`
      })
    return withFileLock(
      `${file}.lock`,
      async () => {
        const before = await textOf(file)
        const after = withEntries(before ?? emptyFeed(this.#channel()), entries, this.#now())
        await removeDrafts(file)
        if (after === before) return false
        await replace(file, after)
        return true
      },
      { waitMs: LOCK_WAIT_MS, busy, signal }
    )
  }

  #channel() {
    const { rss_title, rss_description, site_base_url, rss_feed_path } = this.#settings()
    const base = site_base_url.replace(/\/+$/, '')
    return {
      title: rss_title,
      description: rss_description,
      link: `${base}/`,
      self: `${base}/${encodeURIComponent(basename(rss_feed_path))}`
    }
  }

  /** Returns the path of the file without links. `make`: creates its folder. */
  async #path(make: boolean): Promise<string> {
    const { rss_feed_path } = this.#settings()
    const refuse = (problem: string, cause?: unknown) =>
      newsErrors.create('NEWS_FEED_INVALID', `rss_feed_path ${rss_feed_path}: ${problem}`, {
        hint: 'set news.rss_feed_path to a file inside the project',
        at: { path: 'news.rss_feed_path' },
        cause
      })
    const wanted = resolve(this.#projectRoot, rss_feed_path)
    if (inProject(this.#projectRoot, wanted) === null) throw refuse('the file is outside the project')
    const root = await realpath(this.#projectRoot)
    // The nearest existing folder decides, before folders are made behind a link.
    const outside = async (path: string): Promise<boolean> => {
      for (let each = path; ; each = dirname(each)) {
        const real = await realpath(each).catch(() => null)
        if (real !== null) return real !== root && inProject(root, real) === null
      }
    }
    if (await outside(wanted)) throw refuse('a symbolic link leads out of the project')
    const folder = dirname(wanted)
    try {
      if (make) await mkdir(folder, { recursive: true })
      if (await outside(wanted)) throw refuse('a symbolic link leads out of the project')
      const real = await realpath(wanted).catch(() => null)
      if (real !== null) return real
      return join(await realpath(folder).catch(() => folder), basename(wanted))
    } catch (error) {
      if ((error as { code?: string }).code === 'NEWS_FEED_INVALID') throw error
      throw refuse('its folder cannot be made', error)
    }
  }
}

async function textOf(file: string): Promise<string | null> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw failure(file, 'it cannot be read', error)
  }
  try {
    // The parser counts lines that end with CR LF as those that end with LF.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r\n?/g, '\n')
  } catch (error) {
    throw failure(file, 'it is not UTF-8', error)
  }
}

/** Removes drafts of processes that were killed. Only the owner of the lock writes one. */
async function removeDrafts(file: string): Promise<void> {
  const [folder, name] = [dirname(file), basename(file)]
  for (const each of await readdir(folder).catch(() => [])) {
    if (!each.startsWith(`${name}.`) || !each.endsWith('.draft')) continue
    await rm(join(folder, each), { force: true }).catch(() => undefined)
  }
}

/** Replaces a file by a durable new one with the same permissions. The old file stays if this fails. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}.draft`
  let handle: FileHandle | undefined
  try {
    const mode = await stat(file).then(
      info => info.mode & 0o777,
      () => 0o644
    )
    handle = await open(draft, 'wx', mode)
    await handle.writeFile(text)
    await handle.sync()
    await handle.close()
    handle = undefined
    await rename(draft, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await handle?.close().catch(() => undefined)
    await rm(draft, { force: true }).catch(() => undefined)
    throw failure(file, 'it cannot be written', error)
  }
}

/** Makes the new name durable, where the system can. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null)
  if (handle === null) return
  await handle.sync().catch(() => undefined)
  await handle.close()
}

function failure(file: string, problem: string, cause: unknown): Error {
  const { code } = cause as NodeJS.ErrnoException
  const reason = code === undefined ? '' : ` (${code})`
  return newsErrors.create('NEWS_FEED_INVALID', `${file}: ${problem}${reason}`, {
    hint: 'check the file, its permissions and the space on the disk',
    at: { file },
    cause
  })
}
