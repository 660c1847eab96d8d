// Exports of this folder for tests. Sources import the files directly.
export { envBackend } from './env-backend.ts'
