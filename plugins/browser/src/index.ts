// Exports of this folder for tests. Sources import the files directly.
export { Chromium } from './chromium.ts'
export { findExecutable } from './executable.ts'
export { Pages } from './pages.ts'
export { type Settings, settings } from './settings.ts'
