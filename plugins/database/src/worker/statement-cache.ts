/** LRU cache of prepared statements by their SQL. */
export class StatementCache<S> {
  readonly #capacity: number
  readonly #dispose: (statement: S) => void
  readonly #statements = new Map<string, S>()

  constructor(capacity: number, dispose: (statement: S) => void) {
    this.#capacity = capacity
    this.#dispose = dispose
  }

  take(sql: string, prepare: () => S): S {
    const known = this.#statements.get(sql)
    if (known !== undefined) {
      // While the cache is at most half full, the order of use does not matter.
      if (this.#statements.size * 2 < this.#capacity) return known
      this.#statements.delete(sql)
      this.#statements.set(sql, known)
      return known
    }
    const statement = prepare()
    this.#statements.set(sql, statement)
    if (this.#statements.size > this.#capacity) {
      const oldest = this.#statements.keys().next().value
      if (oldest !== undefined) this.drop(oldest)
    }
    return statement
  }

  drop(sql: string): void {
    const statement = this.#statements.get(sql)
    this.#statements.delete(sql)
    if (statement !== undefined) this.#dispose(statement)
  }

  clear(): void {
    for (const sql of [...this.#statements.keys()]) this.drop(sql)
  }
}
