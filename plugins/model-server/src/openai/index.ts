// Exports of this folder for tests. Sources import the files directly.
export { readChatRequest } from './chat-request.ts'
export { readCompletionRequest } from './completion-request.ts'
