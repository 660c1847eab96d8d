export { type OpenReviewOptions, openReview } from './adapter.ts'
export { type Note, type NoteContent, noteContent, noteStatus } from './note.ts'
