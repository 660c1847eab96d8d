import { service } from '@svc/plugin-sdk'

/** Secrets of this user in the keyring of the operating system, or in a private file where there is none. */
export const secretKeyring = service<SecretKeyring>('secrets.keyring@1')

export interface SecretKeyring {
  /** Returns a secret; null if the keyring has none. Throws `SEC_STORE_FAILED`. */
  get(collection: string, account: string): Promise<string | null>
  /**
   * Returns a secret. If the keyring has none, stores that of `make` first; of two processes that do so at the same time,
   * both get the same secret. Throws `SEC_STORE_FAILED`.
   */
  getOrCreate(collection: string, account: string, make: () => string): Promise<string>
  /** Stores a secret and replaces an earlier one. Throws `SEC_STORE_FAILED`. */
  set(collection: string, account: string, secret: string): Promise<void>
  /** Removes a secret. Returns false if there was none. Throws `SEC_STORE_FAILED`. */
  delete(collection: string, account: string): Promise<boolean>
  status(): Promise<KeyringStatus>
}

export interface KeyringStatus {
  /** `os`: the keyring of the operating system. `file`: a file with mode 0600. */
  readonly kind: 'os' | 'file'
  /** Name of the keyring, or path of the file. */
  readonly place: string
  /** Why the keyring of the operating system is not used; null if it is. */
  readonly reason: string | null
}
