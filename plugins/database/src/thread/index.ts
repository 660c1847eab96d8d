// The face of this folder for tests. Sources import the files.
export { FileConnection } from './file-connection.ts'
