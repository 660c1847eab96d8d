import type { DatabaseStore } from '@svc/contracts'

/** Methods of the database store that the orchestrator uses. */
export type StateStore = Pick<DatabaseStore, 'location' | 'migrate' | 'query' | 'execute' | 'batch'>

/** Passes each call to the store that `current` returns at that time, so that it outlives a reload of the database. */
export class CurrentStore implements StateStore {
  readonly #current: () => StateStore

  constructor(current: () => StateStore) {
    this.#current = current
  }

  get location(): string {
    return this.#current().location
  }

  migrate: StateStore['migrate'] = (...args) => this.#current().migrate(...args)
  query: StateStore['query'] = (...args) => this.#current().query(...args)
  execute: StateStore['execute'] = (...args) => this.#current().execute(...args)
  batch: StateStore['batch'] = (...args) => this.#current().batch(...args)
}
