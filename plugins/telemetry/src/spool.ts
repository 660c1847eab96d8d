import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { telemetryErrors } from './errors.ts'

/** Limits of the queue. A payload may be as large as the metadata of a row. */
const MAX_PAYLOAD_BYTES = 262_144
const MAX_PENDING = 10_000

const PENDING = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.json$/
const PART = /\.json\.part$/
/** Age in milliseconds after which the unfinished file of a killed process is removed. */
const STALE_PART_MS = 60_000

export interface SpoolUsage {
  readonly pending: number
  readonly bytes: number
  /** Unix milliseconds of the oldest payload; null if there is none. */
  readonly oldest: number | null
  /** Files that a killed process left unfinished. The next enqueue removes them. */
  readonly unfinished: number
}

/**
 * Upload queue: one file `pending/UUID.json` for each payload. A file appears complete or not at all. UUIDs of version 7
 * begin with the time, so that the order of the names is the order of the payloads.
 *
 * All methods throw `TEL_SPOOL_FAILED`.
 */
export class Spool {
  readonly directory: string
  readonly #pending: string

  constructor(directory: string) {
    this.directory = directory
    this.#pending = join(directory, 'pending')
  }

  /** Adds a payload of JSON text. Resolves when it is on disk. Throws `TEL_PAYLOAD_INVALID` and `TEL_SPOOL_FULL`. */
  async add(json: string): Promise<string> {
    const bytes = Buffer.byteLength(json)
    if (bytes > MAX_PAYLOAD_BYTES)
      throw telemetryErrors.create(
        'TEL_PAYLOAD_INVALID',
        `the payload has ${bytes} bytes, the limit is ${MAX_PAYLOAD_BYTES}`,
        { hint: 'split it into several payloads' }
      )
    return this.#guarded('write', async () => {
      makePrivateFolder(this.#pending)
      await this.#removeStaleParts()
      const pending = (await this.names()).length
      if (pending >= MAX_PENDING)
        throw telemetryErrors.create('TEL_SPOOL_FULL', `${this.#pending} has ${pending} payloads`, {
          hint: 'upload them, or remove files from the folder'
        })
      const id = uuidV7()
      const target = join(this.#pending, `${id}.json`)
      const part = `${target}.part`
      try {
        await writeDurably(part, json)
        await rename(part, target)
      } catch (error) {
        await rm(part, { force: true }).catch(() => {})
        throw error
      }
      await syncFolder(this.#pending)
      return id
    })
  }

  /** Returns the ids of all payloads, oldest first. */
  async names(): Promise<string[]> {
    const files = await this.#files()
    return files
      .filter(name => PENDING.test(name))
      .sort()
      .map(name => name.slice(0, -'.json'.length))
  }

  /** Returns the text of a payload; null if it no longer exists. Throws `TEL_PAYLOAD_INVALID` if it is too large. */
  async read(id: string): Promise<string | null> {
    const file = join(this.#pending, `${id}.json`)
    return this.#guarded('read', async () => {
      try {
        const { size } = await stat(file)
        if (size <= MAX_PAYLOAD_BYTES) return await readFile(file, 'utf8')
        throw telemetryErrors.create('TEL_PAYLOAD_INVALID', `${file} has ${size} bytes`, {
          hint: `remove the file; the limit is ${MAX_PAYLOAD_BYTES} bytes`
        })
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    })
  }

  async remove(id: string): Promise<void> {
    await this.#guarded('change', () => rm(join(this.#pending, `${id}.json`), { force: true }))
  }

  async usage(): Promise<SpoolUsage> {
    const names = await this.names()
    const stats = await Promise.all(names.map(name => stat(join(this.#pending, `${name}.json`)).catch(() => undefined)))
    const found = stats.filter(each => each !== undefined)
    const unfinished = (await this.#files()).filter(name => PART.test(name)).length
    return {
      pending: found.length,
      bytes: found.reduce((sum, { size }) => sum + size, 0),
      oldest: found.length === 0 ? null : Math.floor(Math.min(...found.map(({ mtimeMs }) => mtimeMs))),
      unfinished
    }
  }

  /** Returns why payloads cannot be written; null if they can. Creates the folder. */
  async problem(): Promise<string | null> {
    try {
      makePrivateFolder(this.#pending)
      await access(this.#pending, constants.R_OK | constants.W_OK | constants.X_OK)
      return null
    } catch (error) {
      return errorMessage(error)
    }
  }

  async #files(): Promise<string[]> {
    return this.#guarded('read', async () => {
      try {
        return await readdir(this.#pending)
      } catch (error) {
        if (isMissing(error)) return []
        throw error
      }
    })
  }

  async #removeStaleParts(): Promise<void> {
    const parts = (await this.#files()).filter(name => PART.test(name))
    for (const name of parts) {
      const file = join(this.#pending, name)
      const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
      if (Date.now() - mtimeMs > STALE_PART_MS) await rm(file, { force: true })
    }
  }

  async #guarded<A>(action: string, run: () => Promise<A>): Promise<A> {
    try {
      return await run()
    } catch (cause) {
      if (isSvcError(cause)) throw cause
      throw telemetryErrors.create(
        'TEL_SPOOL_FAILED',
        `cannot ${action} the upload queue ${this.#pending}: ${errorMessage(cause)}`,
        {
          cause,
          at: { file: this.#pending },
          hint: 'make room on the disk and the folder writable, or set plugins.telemetry.spool_dir'
        }
      )
    }
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a new name in a folder durable, where the system can. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch {
    // Windows cannot open folders; the file itself is on disk.
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

let lastTime = 0
let sequence = 0

/** Returns a UUID of version 7 (RFC 9562): 48 bits of time, then a counter within a millisecond, then random bits. */
function uuidV7(): string {
  const now = Math.max(Date.now(), lastTime)
  sequence = now === lastTime ? sequence + 1 : 0
  lastTime = sequence > 0xfff ? now + 1 : now
  if (sequence > 0xfff) sequence = 0
  const bytes = randomBytes(16)
  bytes.writeUIntBE(lastTime, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  bytes.writeUInt8(((bytes[8] as number) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
