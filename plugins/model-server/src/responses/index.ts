// Exports of this folder for tests. Sources import the files directly.
export { DatabaseResponses } from './database-responses.ts'
export { messagesOf } from './input.ts'
export { ResponseOutput } from './output.ts'
export { readResponsesRequest } from './request.ts'
