// Exports of this folder for tests. Sources import the files directly.
export { SessionTranscripts } from './session-transcripts.ts'
