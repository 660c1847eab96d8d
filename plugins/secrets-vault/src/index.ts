// Exports of this folder for tests. Sources import the files directly.
export { VaultBackend } from './vault-backend.ts'
