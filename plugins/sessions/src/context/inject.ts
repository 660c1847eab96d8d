import type { ContextEnvelope } from '@svc/contracts'

/** Assumed bytes per token of a prompt. */
const BYTES_PER_TOKEN = 4

/** Bytes reserved for the note after truncated text. */
const NOTE_ROOM = 64

const NOTE = '\n[context truncated]'

export interface Injected {
  readonly text: string
  /** Number of characters that did not fit. */
  readonly dropped: number
}

/**
 * Returns an envelope's text for a prompt: at most 4 bytes per token of `maxTokens`, or of the envelope's budget if
 * that is smaller. A longer text is cut 64 bytes before the limit, at a character boundary, with a note. Empty for an
 * expired or stale envelope, and for a longer text with a limit below 64 bytes. `key` is the envelope's key in the shared
 * context.
 */
export function injectedText(envelope: ContextEnvelope, key: string, maxTokens: number, now: number): Injected {
  if (isOutdated(envelope, now)) return { text: '', dropped: 0 }
  const limit = Math.max(0, Math.floor(Math.min(maxTokens, envelope.budget.max_tokens ?? maxTokens) * BYTES_PER_TOKEN))
  return cut(promptText(envelope, key), limit)
}

function isOutdated(envelope: ContextEnvelope, now: number): boolean {
  const { created_at_unix_ms: created, expires_at_unix_ms: expires, stale_after_ms: staleAfter } = envelope
  return (expires !== undefined && expires < now) || (staleAfter !== undefined && created + staleAfter < now)
}

function promptText({ budget, content, trust }: ContextEnvelope, key: string): string {
  const { summary_text, facts = [], repo_paths = [], artifact_refs = [], citations = [] } = content
  const references = [
    ...repo_paths.map(path => `- file: ${path}`),
    ...artifact_refs.map(artifact => `- artifact: ${artifact}`),
    ...citations.map(citation => `- citation: ${citation}`)
  ]
  const parts = [`Context of the session (${trust.trust_tier}, ${trust.freshness_tier}):`]
  switch (budget.injection_mode) {
    case 'tool_required':
      return `${parts[0]} read it with the tool svc_get_context; its key is ${key}.`
    case 'reference_only':
      parts.push(...references)
      break
    case 'summary_only':
      parts.push(summary_text)
      break
    default:
      parts.push(summary_text, ...facts.map(({ id, text }) => `- ${id}: ${text}`), ...references)
  }
  const shown = parts.slice(1).filter(part => part !== '')
  return shown.length === 0 ? '' : [parts[0], ...shown].join('\n')
}

function cut(text: string, limit: number): Injected {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return { text, dropped: 0 }
  let end = Math.max(0, limit - NOTE_ROOM)
  // Bytes 10xxxxxx are continuation bytes of UTF-8.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const kept = bytes.toString('utf8', 0, end)
  return { text: limit < NOTE_ROOM ? '' : kept + NOTE, dropped: text.length - kept.length }
}
