// Exports of this folder for tests. Sources import the files directly.

export { ModuleFiles } from './files/module-files.ts'
export { SignInCodes } from './session/codes.ts'
export { newSessionState, Sessions } from './session/sessions.ts'
