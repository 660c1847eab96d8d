// Exports of this folder for tests. Sources import the files directly.
export { candidates } from './address.ts'
export { ModelServerClient } from './client.ts'
export { configuredRouter, ownServer } from './own-server.ts'
export type { Settings } from './settings.ts'
