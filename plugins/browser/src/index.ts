// The face of this folder for tests. Sources import the files.
export { Chromium } from './chromium.ts'
export { findExecutable } from './executable.ts'
export { Pages } from './pages.ts'
export { type Settings, settings } from './settings.ts'
