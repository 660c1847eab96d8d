// The face of this folder for tests. Sources import the files.
export { readChatRequest } from './chat-request.ts'
export { readCompletionRequest } from './completion-request.ts'
