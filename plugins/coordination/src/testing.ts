// Exports for tests of other plugins.
export { DatabaseCoordination } from './database-coordination.ts'
