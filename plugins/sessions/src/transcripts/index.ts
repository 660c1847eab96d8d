// The face of this folder for tests. Sources import the files.
export { SessionTranscripts } from './session-transcripts.ts'
