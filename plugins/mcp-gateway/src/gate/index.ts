// Exports of this folder for tests. Sources import the files directly.
export { clientKey } from './client-key.ts'
export { Gate } from './gate.ts'
