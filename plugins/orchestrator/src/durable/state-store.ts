import type { DatabaseStore } from '@svc/contracts'

/** Part of the database store that keeps the state. */
export type StateStore = Pick<DatabaseStore, 'location' | 'migrate' | 'query' | 'execute' | 'batch'>

/** Passes each call to the store that `current` returns then, so that its holder outlives a reload of the database. */
export class CurrentStore implements StateStore {
  readonly #current: () => StateStore

  constructor(current: () => StateStore) {
    this.#current = current
  }

  get location(): string {
    return this.#current().location
  }

  migrate: StateStore['migrate'] = (...given) => this.#current().migrate(...given)
  query: StateStore['query'] = (...given) => this.#current().query(...given)
  execute: StateStore['execute'] = (...given) => this.#current().execute(...given)
  batch: StateStore['batch'] = (...given) => this.#current().batch(...given)
}
