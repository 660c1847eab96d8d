import { dashboardSearchInput, dashboardSearchOutput, type TranscriptEntry, type Transcripts } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { sessionErrors } from '../errors.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { SESSIONS_TOPIC } from '../topics.ts'
import { sessionName } from './parts.ts'

const { SES_SESSION_UNKNOWN } = sessionErrors.specs

/** Limits, so that the messages of a session fit into one frame of the console's stream. */
const MAX_MESSAGES = 200
const MAX_CONTENT = 8_000
const MAX_BYTES = 160_000

export const sessionMessages = defineOperation({
  id: 'sessions.messages',
  summary: 'Show the last messages of a session, long ones shortened, oldest first',
  input: t.object({ session_id: sessionName }),
  output: t.object({
    session_id: t.string(),
    earlier: t.integer({ description: 'Number of earlier messages that are not shown.' }),
    messages: t.array(
      t.object({
        id: t.string(),
        role: t.enum(['user', 'assistant', 'system', 'tool']),
        content: t.string({ description: 'The first 8,000 characters.' }),
        timestamp_ms: t.integer(),
        model: t.optional(t.string()),
        tokens: t.optional(t.integer()),
        files: t.optional(t.string({ description: 'Files in the context, separated by commas.' }))
      })
    )
  }),
  errors: { SES_SESSION_UNKNOWN },
  effect: 'read',
  watch: { on: [SESSIONS_TOPIC], minMs: 500 },
  expose: { rpc: true }
})

export function messagesHandler(sessions: Sessions, transcripts: Transcripts): Handler<typeof sessionMessages> {
  return async ({ session_id }) => {
    const { turns } = await sessions.require(session_id)
    const last = (await transcripts.history(session_id, MAX_MESSAGES)).map(messageOf)
    let bytes = 0
    let from = last.length
    while (from > 0) {
      bytes += Buffer.byteLength(JSON.stringify(last[from - 1]))
      if (bytes > MAX_BYTES) break
      from -= 1
    }
    const messages = last.slice(from)
    return { session_id, earlier: Math.max(0, turns - messages.length), messages }
  }
}

function messageOf({ id, role, content, timestamp, context_files, model_used, tokens }: TranscriptEntry) {
  return defined({
    id,
    role,
    content: content.length > MAX_CONTENT ? `${content.slice(0, MAX_CONTENT - 1)}…` : content,
    timestamp_ms: timestamp * 1_000,
    model: model_used,
    tokens,
    files: context_files.length === 0 ? undefined : context_files.join(', ')
  })
}

export const sessionSearch = defineOperation({
  id: 'sessions.search',
  summary: 'Search sessions by name or metadata, last used first',
  input: dashboardSearchInput,
  output: dashboardSearchOutput,
  effect: 'read',
  expose: { rpc: true }
})

export function searchHandler(sessions: Sessions): Handler<typeof sessionSearch> {
  return async ({ text, limit }) => {
    const wanted = text.toLowerCase()
    const found = (await sessions.list()).filter(({ session_id, meta }) =>
      [session_id, ...Object.values(meta)].some(each => each.toLowerCase().includes(wanted))
    )
    return {
      results: found.slice(0, limit).map(({ session_id }) => ({
        title: session_id,
        kind: 'session',
        link: `/ui/p/sessions/sessions/${encodeURIComponent(session_id)}`
      }))
    }
  }
}
