import {
  type CollectionDocument,
  type CollectionFilter,
  type CollectionOptions,
  type DatabaseCollection,
  type DatabaseCollections,
  type DatabaseStore,
  type DatabaseTransaction,
  databaseErrors,
  rowsByName,
  type SqlParameter,
  type SqlResult,
  type StoredDocument
} from '@svc/contracts'

const NAME = /^[a-z][a-z0-9_]{0,63}$/
const DEFAULT_LIMIT = 1_000

type Store = Pick<DatabaseStore, 'query' | 'execute' | 'transaction'>

/** Schemaless collections in the tables of a store. */
export class Collections implements DatabaseCollections {
  readonly #store: Store
  readonly #open = new Map<string, Collection<CollectionDocument>>()

  constructor(store: Store) {
    this.#store = store
  }

  collection<A extends CollectionDocument>(name: string, { index }: CollectionOptions = {}): DatabaseCollection<A> {
    if (!NAME.test(name)) {
      throw databaseErrors.create('DBS_STATEMENT_REFUSED', `"${name}" is not a name for a collection`, {
        hint: 'use 1 to 64 lower-case letters, digits and _, beginning with a letter'
      })
    }
    const key = `${name} ${index ?? ''}`
    const open = this.#open.get(key) ?? new Collection(this.#store, name, index)
    this.#open.set(key, open)
    return open as unknown as DatabaseCollection<A>
  }

  /** Looks for the tables again at their next use: a restored backup may lack them. */
  forgetTables(): void {
    for (const collection of this.#open.values()) collection.forgetTable()
  }
}

class Collection<A extends CollectionDocument> implements DatabaseCollection<A> {
  readonly #store: Store
  readonly #name: string
  readonly #index: string | undefined
  #exists = false
  #isIndexed = false

  constructor(store: Store, name: string, index: string | undefined) {
    this.#store = store
    this.#name = name
    this.#index = index
  }

  forgetTable(): void {
    this.#exists = false
    this.#isIndexed = false
  }

  async insert(document: A): Promise<number> {
    const text = this.#toJson(document)
    await this.#ensure()
    const { lastInsertId } = await this.#store.execute(`INSERT INTO "${this.#name}" (_data) VALUES (?)`, [text])
    return Number(lastInsertId)
  }

  async get(id: number): Promise<A | null> {
    if (!(await this.#isThere())) return null
    const found = await this.#store.query(`SELECT _id, _data FROM "${this.#name}" WHERE _id = ?`, [id])
    return this.#documents(found)[0]?.data ?? null
  }

  async find(
    filter: CollectionFilter = {},
    { limit = DEFAULT_LIMIT }: { readonly limit?: number } = {}
  ): Promise<readonly StoredDocument<A>[]> {
    if (!(await this.#isThere())) return []
    const { where, values } = toWhere(filter)
    const sql = `SELECT _id, _data FROM "${this.#name}"${where} ORDER BY _id LIMIT ?`
    return this.#documents(await this.#store.query(sql, [...values, limit]))
  }

  async patch(id: number, fields: Partial<A>): Promise<boolean> {
    if (!(await this.#isThere())) return false
    return this.#store.transaction(async tx => {
      const found = await tx.query(`SELECT _id, _data FROM "${this.#name}" WHERE _id = ?`, [id])
      const [current] = this.#documents(found)
      if (current === undefined) return false
      await this.#write(tx, id, { ...current.data, ...fields })
      return true
    })
  }

  async upsert(filter: CollectionFilter, change: (current: A | null) => A): Promise<StoredDocument<A>> {
    await this.#ensure()
    const { where, values } = toWhere(filter)
    return this.#store.transaction(async tx => {
      const sql = `SELECT _id, _data FROM "${this.#name}"${where} ORDER BY _id LIMIT 1`
      const [current] = this.#documents(await tx.query(sql, values))
      const data = change(current?.data ?? null)
      if (current !== undefined) {
        await this.#write(tx, current.id, data)
        return { id: current.id, data }
      }
      const text = this.#toJson(data)
      const { lastInsertId } = await tx.execute(`INSERT INTO "${this.#name}" (_data) VALUES (?)`, [text])
      return { id: Number(lastInsertId), data }
    })
  }

  async delete(id: number): Promise<boolean> {
    if (!(await this.#isThere())) return false
    return (await this.#store.execute(`DELETE FROM "${this.#name}" WHERE _id = ?`, [id])).changes > 0
  }

  async count(filter: CollectionFilter = {}): Promise<number> {
    if (!(await this.#isThere())) return 0
    const { where, values } = toWhere(filter)
    const { rows } = await this.#store.query(`SELECT count(*) FROM "${this.#name}"${where}`, values)
    return Number(rows[0]?.[0])
  }

  async #write(tx: DatabaseTransaction, id: number, data: A): Promise<void> {
    await tx.execute(`UPDATE "${this.#name}" SET _data = ? WHERE _id = ?`, [this.#toJson(data), id])
  }

  async #ensure(): Promise<void> {
    if (!(await this.#isThere())) {
      await this.#store.execute(
        `CREATE TABLE IF NOT EXISTS "${this.#name}" (_id INTEGER PRIMARY KEY AUTOINCREMENT, _data TEXT NOT NULL)`
      )
      this.#exists = true
    }
    if (this.#index === undefined || this.#isIndexed) return
    const name = `${this.#name}_${this.#index.replaceAll(/\W/g, '_')}`
    await this.#store.execute(`CREATE INDEX IF NOT EXISTS "${name}" ON "${this.#name}" (${fieldSql(this.#index)})`)
    this.#isIndexed = true
  }

  /** Returns whether the table exists. Throws `DBS_STATEMENT_REFUSED` if it is no collection. */
  async #isThere(): Promise<boolean> {
    if (this.#exists) return true
    const found = await this.#store.query('SELECT name FROM pragma_table_info(?) ORDER BY cid', [this.#name])
    const columns = found.rows.map(([name]) => String(name))
    if (columns.length === 0) return false
    if (columns.join() !== '_id,_data') {
      throw databaseErrors.create(
        'DBS_STATEMENT_REFUSED',
        `the table "${this.#name}" is no collection: it has the columns ${columns.join(', ')}`,
        { hint: 'choose another name for the collection' }
      )
    }
    this.#exists = true
    return true
  }

  #documents(found: Pick<SqlResult, 'columns' | 'rows'>): StoredDocument<A>[] {
    return rowsByName(found).map(({ _id, _data }) => {
      try {
        const data: unknown = JSON.parse(String(_data))
        if (isObject(data)) return { id: Number(_id), data: data as A }
      } catch {
        // Reported below, like a value that is no object.
      }
      throw databaseErrors.create('DBS_CORRUPT', `row ${_id} of the collection "${this.#name}" holds no JSON object`)
    })
  }

  #toJson(document: A): string {
    if (isObject(document)) {
      const text = JSON.stringify(document)
      if (text?.startsWith('{')) return text
    }
    throw databaseErrors.create('DBS_VALUE_INVALID', `a document for the collection "${this.#name}" is no JSON object`)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Compares JSON values: `json_extract` would not distinguish true from 1. */
function toWhere(filter: CollectionFilter): { readonly where: string; readonly values: SqlParameter[] } {
  const fields = Object.entries(filter)
  if (fields.length === 0) return { where: '', values: [] }
  return {
    where: ` WHERE ${fields.map(([field]) => `${fieldSql(field)} = ?`).join(' AND ')}`,
    values: fields.map(([, value]) => JSON.stringify(value))
  }
}

/** Returns SQL for the JSON text of a top-level field. The path is a literal, since an index cannot use a parameter. */
function fieldSql(field: string): string {
  // A quoted path supports every character except the double quote; the parameters of a statement begin with ?, : or @.
  if (!/^[\w.-]+$/.test(field)) {
    throw databaseErrors.create('DBS_VALUE_INVALID', `the field ${JSON.stringify(field)} cannot be compared`, {
      hint: 'use letters, digits, _, - and .'
    })
  }
  return `coalesce(_data -> '$."${field}"', 'null')`
}
