// Exports for tests. Sources import the files directly.
export { settings } from './settings.ts'
