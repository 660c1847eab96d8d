// Exports of this folder for tests. Sources import the files directly.
export { openRemote, openReplica } from './remote-store.ts'
