// The face of this folder for tests. Sources import the files.
export { openFile, openMemory } from './local-store.ts'
