// The face of this folder for tests. Sources import the files.
export { ThinkingReader, thinkingMarks } from './thinking-reader.ts'
export { type ToolCallPiece, ToolCallReader } from './tool-call-reader.ts'
export { forcedCall, toolFormat } from './tool-format.ts'
