// Exports of this folder for tests. Sources import the files directly.
export type { AnswerEvent } from './answer.ts'
export { ThinkingReader, thinkingMarks } from './thinking-reader.ts'
export { type ToolCallPiece, ToolCallReader } from './tool-call-reader.ts'
export { forcedCall, toolFormat } from './tool-format.ts'
