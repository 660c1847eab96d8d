import { service } from '@svc/plugin-sdk'
import type { JourneyEnvelope } from './journey.ts'

/**
 * Messages of a session. With a database a turn is written to `chat_transcripts` and to `conversation_messages`, in one
 * transaction; without one it is kept in memory. It is always written to the session's file.
 */
export const transcripts = service<Transcripts>('sessions.transcripts@1')

export interface Transcripts {
  append(turn: TranscriptTurn): Promise<TranscriptEntry>
  /** Returns the last `limit` (default 100) messages, oldest first. */
  history(session: string, limit?: number): Promise<readonly TranscriptEntry[]>
  /** Adds a row to `routing_decisions`; does nothing if no database is attached. */
  routed(decision: {
    readonly journey_id: string
    readonly session_id: string
    readonly surface: string
    readonly model_id: string
    readonly reason: Readonly<Record<string, unknown>>
  }): Promise<void>
  /** Deletes the turns of a session and returns their number. */
  reset(session: string): Promise<number>
}

export interface TranscriptTurn {
  readonly session_id: string
  readonly role: 'user' | 'assistant' | 'system' | 'tool'
  readonly content: string
  readonly context_files?: readonly string[]
  readonly model_used?: string
  readonly tokens?: number
  /** Throws `SES_JOURNEY_INVALID` if it does not match the schema. */
  readonly journey?: JourneyEnvelope
  readonly turn_id?: string
}

export interface TranscriptEntry {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system' | 'tool'
  readonly content: string
  /** Unix seconds. */
  readonly timestamp: number
  readonly context_files: readonly string[]
  readonly model_used?: string
  readonly tokens?: number
}
