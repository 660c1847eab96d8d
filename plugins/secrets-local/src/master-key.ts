import { randomBytes } from 'node:crypto'
import { type SecretKeyring, vaultErrors } from '@svc/contracts'
import type { VaultDatabase } from './database.ts'
import { VaultKeys } from './row.ts'

/** Entry of the master password in the keyring. */
export const MASTER = { collection: 'vox-secrets-vault', account: 'master' } as const
const MASTER_BYTES = 32
const FIRST_SECRET =
  'SELECT secret_id FROM clavis_account_secrets UNION ALL SELECT secret_id FROM clavis_profile_overrides LIMIT 1'

/** Keys of the vault, which derive from the master password in the keyring. */
export class MasterKey {
  readonly #keyring: SecretKeyring
  readonly #database: VaultDatabase
  readonly #kek: { readonly ref: string; readonly version: number }
  #keys: VaultKeys | null = null

  constructor(
    keyring: SecretKeyring,
    database: VaultDatabase,
    kek: { readonly ref: string; readonly version: number }
  ) {
    this.#keyring = keyring
    this.#database = database
    this.#kek = kek
  }

  async exists(): Promise<boolean> {
    return (await this.#read()) !== null
  }

  /** Returns the keys for the row of a secret that exists. Throws `SEV_MASTER_MISSING`. */
  async existing(secret: string): Promise<VaultKeys> {
    if (this.#keys !== null) return this.#keys
    const password = await this.#read()
    if (password === null) throw await this.#missing(secret)
    this.#keys = new VaultKeys(password, this.#kek)
    return this.#keys
  }

  /** Returns the keys, and creates the master password for an empty vault. Throws `SEV_MASTER_MISSING`. */
  async writable(): Promise<VaultKeys> {
    if (this.#keys !== null) return this.#keys
    let password = await this.#read()
    if (password === null) {
      const [first] = await this.#database.read(FIRST_SECRET, [])
      if (first !== undefined) throw await this.#missing(String(first.secret_id))
      const make = (): string => randomBytes(MASTER_BYTES).toString('hex')
      password = await this.#keyring.getOrCreate(MASTER.collection, MASTER.account, make)
    }
    this.#keys = new VaultKeys(password, this.#kek)
    return this.#keys
  }

  #read(): Promise<string | null> {
    return this.#keyring.get(MASTER.collection, MASTER.account)
  }

  async #missing(secret: string): Promise<Error> {
    const { place } = await this.#keyring.status()
    return vaultErrors.create(
      'SEV_MASTER_MISSING',
      `the vault has ${secret}, but ${place} has no entry ${MASTER.account} of ${MASTER.collection}`,
      { hint: 'sign in with the keyring that created the vault, or move the file of the vault away to start a new one' }
    )
  }
}
