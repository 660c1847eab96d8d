// Exports of this folder for tests. Sources import the files directly.
export { runInstall } from './command.ts'
export { withDownload } from './download.ts'
export { installHandler } from './handlers.ts'
export { type InstallOptions, installProvider } from './install.ts'
export { doctorGpu, installGpu } from './operations.ts'
