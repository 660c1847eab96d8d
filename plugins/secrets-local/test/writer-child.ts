// Stores versions of a secret until it is killed, and prints each acknowledged version.
import { policyOf, type SecretKeyring } from '@svc/contracts'
import { LocalVault, VaultDatabase } from '#root'

const [file = '', master = ''] = process.argv.slice(2)
const keyring = { get: async () => master } as unknown as SecretKeyring
const location = { mode: 'local_file', file, urlSource: 'default', tokenSource: 'none' } as const
const vault = new LocalVault({
  database: new VaultDatabase(location, 5_000, new AbortController().signal),
  keyring,
  policy: policyOf({ profile: 'dev', phase: 'shadow', hardCut: false }),
  account: 'default-account',
  kek: { ref: 'local-master', version: 1 },
  history: 10,
  audited: false,
  retention: { days: 365, rows: 100_000 },
  selectedBy: null,
  now: Date.now
})
for (let version = 1; ; version++) {
  await vault.set('A', `value ${version}`, { by: 'cli' })
  process.stdout.write(`${version}\n`)
}
