// Exports of this folder for tests. Sources import the files directly.
export { FileStore } from './file-store.ts'
export { Keyring, type OpenEntry, openOsEntry } from './keyring.ts'
