import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigVersion } from '@svc/contracts'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

const MAX_VERSIONS = 20
const FOLDER = 'config-history'
/** Age from which a draft is one of a killed process. */
const DRAFT_MS = 60_000

/** Previous text of the configuration file. */
interface Kept {
  readonly time: string
  readonly keys: readonly string[]
  readonly text: string
}

/** Returns the SHA-256 of a text as hexadecimal digits. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * The texts of the configuration file before its last 20 changes, one JSON file each, in the state folder. The files are
 * readable for the owner only: an earlier text may contain a literal secret.
 */
export class ConfigHistory {
  readonly #folder: string

  /** `state`: state folder of the project. */
  constructor(state: string) {
    this.#folder = join(state, FOLDER)
  }

  /** Newest first. Files that are not readable are left out. */
  list(): readonly ConfigVersion[] {
    return this.#ids().flatMap((id, index) => {
      const kept = this.#read(id)
      if (kept === undefined) return []
      return [{ number: index + 1, id, time: kept.time, keys: [...kept.keys], digest: digestOf(kept.text) }]
    })
  }

  /** Returns a kept text by its number, 1 for the newest, or by its id. */
  text(wanted: number | string): string | undefined {
    const found = this.list().find(({ number, id }) => number === wanted || id === wanted)
    return found === undefined ? undefined : this.#read(found.id)?.text
  }

  /** Keeps a text and removes the oldest. Returns its id. Throws if the folder cannot be written. */
  add(text: string, keys: readonly string[]): string {
    makePrivateFolder(this.#folder)
    const time = new Date().toISOString()
    const last = this.#ids()[0]
    // Ids sort by time, also for two changes in one millisecond and after the clock was set back.
    const stamp = String(Math.max(Date.now(), last === undefined ? 0 : Number(last) + 1)).padStart(15, '0')
    const file = this.#fileOf(stamp)
    try {
      writeFileSync(`${file}.tmp`, JSON.stringify({ time, keys, text } satisfies Kept), { mode: 0o600 })
      renameSync(`${file}.tmp`, file)
    } catch (error) {
      rmSync(`${file}.tmp`, { force: true })
      throw error
    }
    this.#removeDrafts()
    for (const id of this.#ids().slice(MAX_VERSIONS)) rmSync(this.#fileOf(id), { force: true })
    return stamp
  }

  remove(id: string): void {
    rmSync(this.#fileOf(id), { force: true })
  }

  /** Removes drafts that killed processes left: they may hold a secret. */
  #removeDrafts(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!name.endsWith('.tmp')) continue
      const path = join(this.#folder, name)
      const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
      if (modified + DRAFT_MS < Date.now()) rmSync(path, { force: true })
    }
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  /** Newest first. */
  #ids(): string[] {
    try {
      const names = readdirSync(this.#folder).flatMap(name => /^(\d{15})\.json$/.exec(name)?.[1] ?? [])
      return names.sort().reverse()
    } catch {
      return []
    }
  }

  #read(id: string): Kept | undefined {
    try {
      const kept = JSON.parse(readFileSync(this.#fileOf(id), 'utf8')) as Partial<Kept>
      const isValid = typeof kept.text === 'string' && typeof kept.time === 'string' && Array.isArray(kept.keys)
      return isValid ? (kept as Kept) : undefined
    } catch {
      return undefined
    }
  }
}
