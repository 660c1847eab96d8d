// Exports of this folder for tests. Sources import the files directly.
export { buildCatalog, fingerprint } from './catalog.ts'
export { LineTransport } from './line-transport.ts'
