// Exports of this folder for tests. Sources import the files directly.
export type { Settings } from './settings.ts'
export { VaultBackend } from './vault-backend.ts'
