// The face of this folder for tests. Sources import the files.
export { openRemote, openReplica } from './remote-store.ts'
