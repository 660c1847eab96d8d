// Exports of this folder for tests. Sources import the files directly.
export { openFile, openMemory } from './local-store.ts'
