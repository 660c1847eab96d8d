import { open, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { eventOf, inOrder, type SessionEvent } from './session-state.ts'

const NEWLINE = 0x0a

/**
 * File of a session, one event per line. Each append is one write, so that several processes can append. Readers skip
 * an incomplete line, and the next writer ends it.
 */
export class SessionFile {
  readonly path: string
  #size = 0
  /** Inode of the file that was read, to detect a replaced file. */
  #inode: bigint | number = 0
  /** Bytes after the last line break. */
  #torn = 0

  constructor(path: string) {
    this.path = path
  }

  /** Reads the events written since the last read; all events if the file was replaced. */
  async read(): Promise<SessionEvent[]> {
    const found = await stat(this.path).catch(missing)
    if (found === null) {
      this.#size = 0
      this.#torn = 0
      return []
    }
    if (found.ino !== this.#inode || found.size < this.#size) {
      this.#inode = found.ino
      this.#size = 0
      this.#torn = 0
    }
    const from = this.#size - this.#torn
    if (found.size === this.#size) return []
    const file = await open(this.path, 'r')
    try {
      const bytes = Buffer.alloc(found.size - from)
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
      const text = bytes.subarray(0, bytesRead)
      this.#size = from + bytesRead
      this.#torn = bytesRead - (text.lastIndexOf(NEWLINE) + 1)
      return eventsOf(text.toString('utf8'))
    } finally {
      await file.close()
    }
  }

  /** Appends an event. With `isSynced`, resolves when the event survives a power loss. */
  async append(event: SessionEvent, isSynced: boolean): Promise<void> {
    makePrivateFolder(dirname(this.path))
    const file = await open(this.path, 'a+', 0o600)
    try {
      const { size } = await file.stat()
      const last = Buffer.alloc(1)
      if (size > 0) await file.read(last, 0, 1, size - 1)
      const torn = size > 0 && last[0] !== NEWLINE ? '\n' : ''
      const line = Buffer.from(`${torn}${JSON.stringify(event)}\n`)
      // A single write to a file in append mode is not interleaved with other writes.
      const { bytesWritten } = await file.write(line)
      if (bytesWritten < line.length) throw new Error(`only ${bytesWritten} of ${line.length} bytes were written`)
      if (isSynced) await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Replaces all events of the file atomically. */
  async replace(events: Iterable<SessionEvent>): Promise<void> {
    const draft = `${this.path}.${process.pid}.tmp`
    const text = inOrder(events)
      .map(event => `${JSON.stringify(event)}\n`)
      .join('')
    try {
      await writeFile(draft, text, { mode: 0o600, flush: true })
      await rename(draft, this.path)
    } catch (error) {
      await unlink(draft).catch(missing)
      throw error
    }
  }
}

/** Reads the events of a file that another program writes. */
export async function eventsInFile(path: string): Promise<SessionEvent[]> {
  const text = await readFile(path, 'utf8').catch(missing)
  return text === null ? [] : eventsOf(text)
}

function eventsOf(text: string): SessionEvent[] {
  return text.split('\n').flatMap(line => {
    if (line === '') return []
    try {
      return eventOf(JSON.parse(line), line) ?? []
    } catch {
      return []
    }
  })
}

function missing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
