import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { quoted } from '../schema/names.ts'
import { type BlobStore, type ByteRange, fileUnknown } from './blob-store.ts'
import { type FileInfo, isFileId, mediaType, newFileId, safeName } from './file-info.ts'
import {
  FILE_STORE_TABLE,
  FILE_TRIGGER_SUFFIX,
  FILES_TABLE,
  FIND_FILE,
  FIND_FILE_COLUMNS,
  INSERT_FILE
} from './file-tables.ts'
import type { StagedFile, Staging } from './staging.ts'

/** Age in milliseconds after which a file that no row refers to is removed. */
const UNUSED_MS = 86_400_000

/** Files removed in one transaction. */
const REMOVED_AT_ONCE = 500

/** A column that holds files. */
export interface FileColumn {
  /** Names in the database. */
  readonly table: string
  readonly column: string
}

export interface FileStorageOptions {
  readonly store: Pick<DatabaseStore, 'query' | 'execute'>
  /** The program that owns the files. */
  readonly program: string
  readonly staging: Staging
  readonly blobs: BlobStore
  /** All columns of the program that hold files. */
  readonly columns: readonly FileColumn[]
  /** Part of the blob store that belongs to the database. Default: the one that the database names. */
  readonly prefix?: string
}

/** The files of a program: what is known of them in the database, and their content in a blob store. */
export class FileStorage {
  readonly #options: FileStorageOptions
  #prefix: Promise<string> | null

  constructor(options: FileStorageOptions) {
    this.#options = options
    this.#prefix = options.prefix === undefined ? null : Promise.resolve(options.prefix)
  }

  get program(): string {
    return this.#options.program
  }

  /**
   * Returns SQL that adds the condition that no row refers to a file: of this program, or of another one with the same
   * database, which may have been given a file of this one.
   */
  async unused(): Promise<string> {
    const { store, columns } = this.#options
    const { rows } = await store.query(FIND_FILE_COLUMNS)
    const all = new Map<string, FileColumn>()
    for (const each of [...columns, ...rows.flatMap(([table, trigger]) => columnOf(String(table), String(trigger)))])
      all.set(JSON.stringify([each.table, each.column]), each)
    return unusedSql([...all.values()])
  }

  /** Receives content. Nothing refers to it until it is stored. */
  stage(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<StagedFile> {
    return this.#options.staging.write(source)
  }

  /** Moves content to the blob store. The caller inserts the row, which the result describes. */
  async keep(staged: StagedFile, name: string, contentType: string): Promise<FileInfo & { readonly sha256: string }> {
    const id = newFileId()
    try {
      await this.#options.blobs.put(await this.#keyOf(id), staged)
    } catch (error) {
      await rm(staged.path, { force: true })
      throw error
    }
    return { id, name: safeName(name), contentType: mediaType(contentType), size: staged.size, sha256: staged.sha256 }
  }

  /** Stores a file with its row, outside of the transactions of the program. */
  async add(staged: StagedFile, name: string, contentType: string): Promise<FileInfo> {
    const file = await this.keep(staged, name, contentType)
    const { store, program } = this.#options
    try {
      const values = [file.id, program, file.name, file.contentType, file.size, file.sha256, Date.now()]
      await store.execute(INSERT_FILE, values)
    } catch (error) {
      await this.#removeBlob(file.id)
      throw error
    }
    return file
  }

  /** Throws `RUN_FILE_UNKNOWN`. */
  async find(id: string): Promise<FileInfo> {
    const { rows } = isFileId(id) ? await this.#options.store.query(FIND_FILE, [id]) : { rows: [] }
    const [row] = rows
    if (row === undefined) throw fileUnknown(id)
    return fileOf(row)
  }

  /** Throws `RUN_STORAGE` if content cannot be stored. */
  check(): Promise<void> {
    return this.#options.blobs.check()
  }

  async read(id: string, range?: ByteRange): Promise<Readable> {
    return this.#options.blobs.read(await this.#keyOf(id), range)
  }

  /** Removes a file that no row refers to, such as one of a refused upload. */
  async discard(id: string): Promise<void> {
    await this.#remove(id, await this.unused())
  }

  async #remove(id: string, unused: string): Promise<void> {
    const { changes } = await this.#options.store.execute(`DELETE FROM ${FILES_TABLE} WHERE id = ?${unused}`, [id])
    if (changes > 0) await this.#removeBlob(id)
  }

  /**
   * Removes the files that no row has referred to for a day, then content without a file, such as that of a transaction
   * that was rolled back. Returns the number of removed files.
   */
  async collect(now: number): Promise<number> {
    const { store, program, blobs, staging } = this.#options
    const unused = await this.unused()
    let removed = 0
    for (let isMore = true; isMore; ) {
      const chosen = `SELECT id FROM ${FILES_TABLE} WHERE program = ? AND created_at_ms < ?${unused} LIMIT ${REMOVED_AT_ONCE}`
      // toestub-ignore(scaling/query-in-loop) - each turn reads the next page of files
      const { rows } = await store.query(chosen, [program, now - UNUSED_MS])
      const ids = rows.map(([id]) => String(id))
      // Checked again by the statement: a row may refer to the file by now.
      for (const id of ids) await this.#remove(id, unused)
      removed += ids.length
      isMore = ids.length === REMOVED_AT_ONCE
    }
    const prefix = await this.#storePrefix()
    for await (const { key, storedAt } of blobs.list(prefix)) {
      if (now - storedAt < UNUSED_MS) continue
      // toestub-ignore(scaling/query-in-loop) - only content older than a day without a known file is looked up, once a day
      const { rows } = await store.query(`SELECT 1 FROM ${FILES_TABLE} WHERE id = ?`, [key.split('/').at(-1) ?? ''])
      if (rows.length === 0) await blobs.remove(key)
    }
    await blobs.clean(prefix, now - UNUSED_MS)
    await staging.clean(now)
    return removed
  }

  async #removeBlob(id: string): Promise<void> {
    await this.#options.blobs.remove(await this.#keyOf(id))
  }

  async #keyOf(id: string): Promise<string> {
    return `${await this.#storePrefix()}/${id.slice(0, 2)}/${id}`
  }

  /** Databases that share a blob store have different prefixes, so none removes the files of another. */
  #storePrefix(): Promise<string> {
    this.#prefix ??= this.#options.store
      .query(`SELECT id FROM ${FILE_STORE_TABLE}`)
      .then(({ rows }) => String(rows[0]?.[0] ?? 'files'))
      .catch((error: unknown) => {
        this.#prefix = null
        throw error
      })
    return this.#prefix
  }
}

/** Returns the column that a trigger of `fileTriggers` checks. */
function columnOf(table: string, trigger: string): FileColumn[] {
  const column = trigger.slice(table.length + 1, -FILE_TRIGGER_SUFFIX.length)
  return trigger === `${table}_${column}${FILE_TRIGGER_SUFFIX}` && column !== '' ? [{ table, column }] : []
}

/** Returns SQL that adds the condition that no row refers to a file. */
function unusedSql(columns: readonly FileColumn[]): string {
  return columns
    .map(({ table, column }) => {
      return ` AND NOT EXISTS (SELECT 1 FROM ${quoted(table)} AS t WHERE t.${quoted(column)} = ${FILES_TABLE}.id)`
    })
    .join('')
}

export function fileOf(row: readonly SqlValue[]): FileInfo {
  const [id, name, contentType, size] = row
  return { id: String(id), name: String(name), contentType: String(contentType), size: Number(size) }
}
