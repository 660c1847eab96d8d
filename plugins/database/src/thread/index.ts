// Exports of this folder for tests. Sources import the files directly.
export { FileConnection } from './file-connection.ts'
