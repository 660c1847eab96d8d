// Exports of this folder for tests. Sources import the files directly.
export { parameterSize } from './catalog.ts'
export { GoTemplate, isGoTemplate } from './go-template/go-template.ts'
export { readChatRequest, readGenerateRequest } from './requests.ts'
