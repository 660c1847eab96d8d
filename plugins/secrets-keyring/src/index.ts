// Exports of this folder for tests. Sources import the files directly.
export { FileStore } from './file-store.ts'
export { Keyring, type OpenEntry, type OsEntry, openOsEntry } from './keyring.ts'
