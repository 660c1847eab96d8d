// Exports of this folder for tests. Sources import the files directly.
export { examineInstallation, examinePlugins, examineRuntime, type Finding } from './doctor.ts'
export { templateFiles } from './template.ts'
