// Exports of this folder for tests. Sources import the files directly.
export { replaceSettings, type Settings, settings } from './settings.ts'
