// The face of this folder for tests. Sources import the files.
export { buildCatalog, fingerprint } from './catalog.ts'
export { LineTransport } from './line-transport.ts'
