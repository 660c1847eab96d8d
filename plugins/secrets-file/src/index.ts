// Exports of this folder for tests. Sources import the files directly.
export { fileBackend } from './file-backend.ts'
