// The face of this folder for tests. Sources import the files.
export { examineInstallation, examinePlugins, examineRuntime, type Finding } from './doctor.ts'
export { templateFiles } from './template.ts'
