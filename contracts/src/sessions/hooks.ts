import { hook } from '@svc/plugin-sdk'
import type { TranscriptEntry } from './transcripts.ts'

export interface SessionMessage {
  readonly session: string
  readonly entry: TranscriptEntry
}

/** Triggered after a message of a session was recorded. */
export const sessionMessage = hook<[SessionMessage]>('sessions.message', 'parallel', {
  onError: 'skip',
  summary: 'After a message of a session was recorded.',
  payload: { session: 'id of the session', entry: 'id, role, content and time of the message' }
})
