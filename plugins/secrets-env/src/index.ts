// The face of this folder for tests. Sources import the files.
export { envBackend } from './env-backend.ts'
