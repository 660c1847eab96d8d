import { service } from '@svc/plugin-sdk'

/**
 * Schemaless collections of the primary database. A collection is a table with the columns `_id` and `_data`, which
 * holds a JSON object.
 */
export const databaseCollections = service<DatabaseCollections>('database.collections@1')

export interface DatabaseCollections {
  /**
   * Returns a collection. Its table is created at the first write. The name consists of 1 to 64 lower-case letters,
   * digits and `_`, and begins with a letter. Throws `DBS_STATEMENT_REFUSED` for another name, and, at the first use,
   * if a table of that name has other columns.
   */
  collection<A extends CollectionDocument = CollectionDocument>(
    name: string,
    options?: CollectionOptions
  ): DatabaseCollection<A>
}

export interface CollectionOptions {
  /** Field that filters usually name. It is indexed, so that they do not read the whole table. */
  readonly index?: string
}

/** JSON object. */
export type CollectionDocument = { readonly [field: string]: unknown }

/** Equality of top-level fields with texts, finite numbers, booleans or null. A missing field equals null. */
export type CollectionFilter = { readonly [field: string]: string | number | boolean | null }

export interface StoredDocument<A> {
  readonly id: number
  readonly data: A
}

/** All methods throw the errors of `DatabaseStore`. */
export interface DatabaseCollection<A extends CollectionDocument> {
  /** Returns the id of the new document. Throws `DBS_VALUE_INVALID` if it is no JSON object. */
  insert(document: A): Promise<number>
  get(id: number): Promise<A | null>
  /** Returns matching documents in the order of their ids. Default limit: 1,000. */
  find(filter?: CollectionFilter, options?: { readonly limit?: number }): Promise<readonly StoredDocument<A>[]>
  /** Replaces top-level fields of a document. Returns false if there is no document with this id. */
  patch(id: number, fields: Partial<A>): Promise<boolean>
  /**
   * Replaces the first document that matches, or inserts one, in one transaction: no other writer comes between.
   * `change` receives null if no document matches. It must be synchronous. Returns the new document.
   */
  upsert(filter: CollectionFilter, change: (current: A | null) => A): Promise<StoredDocument<A>>
  /** Returns false if there is no document with this id. */
  delete(id: number): Promise<boolean>
  count(filter?: CollectionFilter): Promise<number>
}
