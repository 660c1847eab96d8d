import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ValidEvent, validateEvent } from './event.ts'

const SUFFIX = '.jsonl'
/** File that exists while the stored configuration switches rewards off. */
const OFF = 'off'
/** Files that may wait, and the size from which a file is not one of this plugin. */
const MAX_FILES = 200
const MAX_FILE_BYTES = 67_108_864

/** Events of one file. */
export interface SpooledEvents {
  readonly file: string
  readonly events: readonly ValidEvent[]
  /** Lines that are not an event. */
  readonly invalid: number
}

/**
 * Folder of events that a process left without opening the database, such as a single command. A later process commits
 * them. Each event has an idempotency key, so that a file that is read twice counts once.
 */
export class EventSpool {
  readonly #directory: () => Promise<string>

  /** `directory`: returns the folder of the plugin's data. */
  constructor(directory: () => Promise<string>) {
    this.#directory = async () => join(await directory(), 'events')
  }

  /** Writes events to a new file, which appears complete or not at all. Returns false if there are too many files. */
  async write(events: readonly ValidEvent[]): Promise<boolean> {
    if ((await this.list()).length >= MAX_FILES) return false
    const directory = await this.#directory()
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const [first] = events
    // Names sort by the time of the first event.
    const name = `${String(first?.at ?? 0).padStart(15, '0')}-${randomUUID()}${SUFFIX}`
    const part = join(directory, `${name}.part`)
    const handle = await open(part, 'wx', 0o600)
    try {
      await handle.writeFile(events.map(({ at, json }) => `{"at":${at},"event":${json}}\n`).join(''))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, join(directory, name))
    return true
  }

  /** Returns the oldest files; an empty array if there are none. */
  async list(): Promise<readonly string[]> {
    const directory = await this.#directory()
    const names = await readdir(directory).catch(absent)
    return (names ?? [])
      .filter(name => name.endsWith(SUFFIX))
      .sort()
      .slice(0, MAX_FILES)
      .map(name => join(directory, name))
  }

  /** Reads a file; null if another process removed it. */
  async read(file: string): Promise<SpooledEvents | null> {
    const found = await stat(file).catch(absent)
    if (found === null) return null
    if (found.size > MAX_FILE_BYTES) return { file, events: [], invalid: 1 }
    const text = await readFile(file, 'utf8').catch(absent)
    if (text === null) return null
    const lines = text.split('\n').filter(line => line !== '')
    const events = lines.map((line, index) =>
      eventOf(line, `${file.slice(-SUFFIX.length - 36, -SUFFIX.length)}:${index}`)
    )
    const valid = events.filter(event => event !== null)
    return { file, events: valid, invalid: events.length - valid.length }
  }

  async remove(file: string): Promise<void> {
    await unlink(file).catch(absent)
  }

  /** Whether rewards were switched off when the stored configuration was last read. */
  async isOff(): Promise<boolean> {
    return (await stat(join(await this.#directory(), OFF)).catch(absent)) !== null
  }

  /** Notes the stored switch, so that a process that does not open the database leaves no events while it is off. */
  async noteSwitch(isOff: boolean): Promise<void> {
    const directory = await this.#directory()
    if (!isOff) return await this.remove(join(directory, OFF))
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeFile(join(directory, OFF), '', { mode: 0o600 })
  }
}

/** Returns the name of the folder for the events of a user. */
export function userFolder(user: string): string {
  return `user-${createHash('sha256').update(user).digest('hex').slice(0, 16)}`
}

/** Returns the event of a line; null if it is not one. `id`: key of an event without a key of its event. */
function eventOf(line: string, id: string): ValidEvent | null {
  try {
    const { at, event } = JSON.parse(line) as { readonly at: unknown; readonly event: unknown }
    if (!Number.isSafeInteger(at) || Number.isNaN(new Date(at as number).getTime())) return null
    const valid = validateEvent(event, at as number)
    return { ...valid, key: valid.key ?? `spool:${id}`, isSpooled: true }
  } catch {
    return null
  }
}

/** Returns null for a missing file; throws other errors. */
function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
