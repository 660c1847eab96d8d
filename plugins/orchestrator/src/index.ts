// Exports of this folder for tests. Sources import the files directly.

export { withMeshInference } from './settings/inference-base.ts'
export { replaceSettings, type Settings, settings } from './settings.ts'
