// Exports of this folder for tests. Sources import the files directly.

export { InfisicalBackend } from './infisical-backend.ts'
export type { Settings } from './settings.ts'
