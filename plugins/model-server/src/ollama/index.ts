// Exports of this folder for tests. Sources import the files directly.
export { parameterSize } from './catalog.ts'
export { goTemplate, isGoTemplate } from './go-template.ts'
export { readChatRequest, readGenerateRequest } from './requests.ts'
