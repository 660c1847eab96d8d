// Exports for tests of other plugins.
export { PostgresCoordination } from './postgres-coordination.ts'
export { parseServerAddress } from './server-address.ts'
export { noPostgres, PostgresServer } from './testing/postgres-server.ts'
