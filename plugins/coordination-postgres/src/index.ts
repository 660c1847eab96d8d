export { fromPayload, toPayloads } from './hints.ts'
export { PostgresCoordination, type PostgresCoordinationOptions } from './postgres-coordination.ts'
export { type AddressOptions, parseServerAddress } from './server-address.ts'
export { noPostgres, PostgresServer } from './testing/postgres-server.ts'
