// Exports of this folder for tests. Sources import the files directly.
export { DatabaseCoordination } from './database-coordination.ts'
