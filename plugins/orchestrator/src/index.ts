// The face of this folder for tests. Sources import the files.
export { replaceSettings, type Settings, settings } from './settings.ts'
