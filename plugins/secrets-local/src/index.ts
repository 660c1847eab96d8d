// Exports of this folder for tests. Sources import the files directly.
export { VaultDatabase } from './database.ts'
export { assertSeparate, locationOf, selectedBy } from './location.ts'
export { LocalVault, type VaultOptions } from './vault.ts'
