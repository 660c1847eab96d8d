import { policyOf, type SecretKeyring } from '@svc/contracts'
import type { Test } from 'tap'
import { LocalVault, VaultDatabase, type VaultOptions } from '#root'

/** Keyring in memory, as two processes of one user share it. */
export function memoryKeyring(): SecretKeyring & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>()
  return {
    entries,
    get: async (collection, account) => entries.get(`${collection}/${account}`) ?? null,
    async getOrCreate(collection, account, make) {
      const name = `${collection}/${account}`
      if (!entries.has(name)) entries.set(name, make())
      return entries.get(name) as string
    },
    async set(collection, account, secret) {
      entries.set(`${collection}/${account}`, secret)
    },
    delete: async (collection, account) => entries.delete(`${collection}/${account}`),
    status: async () => ({ kind: 'file', place: 'memory', reason: null })
  }
}

/** Vault that a test opened, with what other tests of the same file need. */
export class TestVault extends LocalVault {
  readonly keyring: SecretKeyring
  readonly #database: VaultDatabase

  constructor(options: VaultOptions) {
    super(options)
    this.keyring = options.keyring
    this.#database = options.database
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** Opens the vault of a file with the default options and those given. */
export function openVault(t: Test, file: string, options: Partial<VaultOptions> = {}): TestVault {
  const database = new VaultDatabase(
    { mode: 'local_file', file, urlSource: 'default', tokenSource: 'none' },
    5_000,
    new AbortController().signal
  )
  t.teardown(() => database.close())
  return new TestVault({
    database,
    keyring: memoryKeyring(),
    policy: policyOf({ profile: 'dev', phase: 'shadow', hardCut: false }),
    account: 'default-account',
    kek: { ref: 'local-master', version: 1 },
    history: 10,
    audited: false,
    retention: { days: 365, rows: 100_000 },
    selectedBy: null,
    now: Date.now,
    ...options
  })
}
