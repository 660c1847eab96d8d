import { type DatabaseStore, databaseStore, type KernelAdmin, type PrimaryDatabase } from '@svc/contracts'
import { isSvcError, type Logger, type Ref } from '@svc/plugin-sdk'

/** The project's database, if there is one. Looked up on each use: its plugin may be loaded and unloaded meanwhile. */
export class AttachedDatabase {
  readonly #reference: Ref<PrimaryDatabase> | undefined
  readonly #admin: KernelAdmin | undefined
  readonly #log: Logger
  #activation: Promise<void> | undefined
  #withoutBinding = false

  constructor(reference: Ref<PrimaryDatabase> | undefined, admin: KernelAdmin | undefined, log: Logger) {
    this.#reference = reference
    this.#admin = admin
    this.#log = log
  }

  /**
   * Returns the store; null if no plugin provides one, or the native binding is missing. Rejects if the database cannot
   * be opened.
   */
  async store(): Promise<DatabaseStore | null> {
    if (this.#withoutBinding) return null
    const current = currentProvider(this.#reference)
    if (current === undefined) {
      await (this.#activation ??= this.#activate())
    }
    const store = current ?? currentProvider(this.#reference)
    if (store === undefined) return null
    try {
      await store.capabilities()
      return store
    } catch (error) {
      if (!isSvcError(error, 'DBS_NO_BINDING')) throw error
      this.#withoutBinding = true
      this.#log.warn('sessions and their context are kept only in memory and files: the database has no native binding')
      return null
    }
  }

  /** Loads the database plugin on first use: a process for one command loads few plugins at start. */
  async #activate(): Promise<void> {
    const admin = this.#admin
    if (admin === undefined || admin.serves) return
    const plugin = admin
      .plugins()
      .find(({ name }) => admin.manifest(name)?.provides.includes(databaseStore.id) === true)?.name
    if (plugin !== undefined) await admin.apply({ activate: [plugin] })
  }
}

/** Returns the current provider of a reference; undefined if there is none. */
export function currentProvider<A>(reference: Ref<A> | undefined): A | undefined {
  try {
    return reference?.current
  } catch (error) {
    if (isSvcError(error, 'KRN_SERVICE_GONE')) return undefined
    throw error
  }
}
