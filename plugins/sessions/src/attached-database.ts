import { type DatabaseStore, databaseStore, type KernelAdmin, type PrimaryDatabase } from '@svc/contracts'
import { isSvcError, type Logger, type Ref } from '@svc/plugin-sdk'

/** The project's database, if any, looked up on each use: its plugin may be loaded and unloaded while this one runs. */
export class AttachedDatabase {
  readonly #reference: Ref<PrimaryDatabase> | undefined
  readonly #admin: KernelAdmin | undefined
  readonly #log: Logger
  #asked: Promise<void> | undefined
  #withoutBinding = false

  constructor(reference: Ref<PrimaryDatabase> | undefined, admin: KernelAdmin | undefined, log: Logger) {
    this.#reference = reference
    this.#admin = admin
    this.#log = log
  }

  /**
   * Null if no plugin provides one, or the machine lacks the native binding. If a configured database cannot be
   * opened, every use throws.
   */
  async store(): Promise<DatabaseStore | null> {
    if (this.#withoutBinding) return null
    const there = heldBy(this.#reference)
    if (there === undefined) {
      await (this.#asked ??= this.#activate())
    }
    const store = there ?? heldBy(this.#reference)
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

  /** A process for one command loads few plugins; the database is loaded on first need. */
  async #activate(): Promise<void> {
    const admin = this.#admin
    if (admin === undefined || admin.serves) return
    const plugin = admin
      .plugins()
      .find(({ name }) => admin.manifest(name)?.provides.includes(databaseStore.id) === true)?.name
    if (plugin !== undefined) await admin.apply({ activate: [plugin] })
  }
}

/** Current provider of a reference, or undefined without one. */
export function heldBy<A>(reference: Ref<A> | undefined): A | undefined {
  try {
    return reference?.current
  } catch (error) {
    if (isSvcError(error, 'KRN_SERVICE_GONE')) return undefined
    throw error
  }
}
