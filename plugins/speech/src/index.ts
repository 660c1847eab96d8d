// Exports of this folder for tests. Sources import the files directly.
export { pluginErrors } from './errors.ts'
export { languageHint } from './language-hint.ts'
export { ModelDownload } from './model-download.ts'
export { locateModel } from './model-location.ts'
export { speechStatus, speechTranscribe } from './operations.ts'
export { settings } from './settings.ts'
export { groupsOf, tunablesOf } from './tunables.ts'
