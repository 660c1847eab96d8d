import type { Identity } from '@svc/contracts'

/** Says which identities are meant. */
export type IdentityFilter = (identity: Identity) => boolean

/** Announces identities that have ended, such as those of a session after its sign-out, in this process. */
export class EndedIdentities {
  readonly #listeners = new Set<(isMeant: IdentityFilter) => void>()

  /** Returns a function that removes the listener. */
  onEnd(listener: (isMeant: IdentityFilter) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  end(isMeant: IdentityFilter): void {
    for (const listener of this.#listeners) listener(isMeant)
  }
}
