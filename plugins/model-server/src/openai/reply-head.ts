import { randomUUID } from 'node:crypto'
import { type ServedVariant, variantDigest } from '../served-model.ts'

/** Fields that all chunks of one response share. */
export interface ReplyHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
  /** Identity of the weights. */
  readonly system_fingerprint: string
}

export function replyHead(prefix: 'chatcmpl' | 'cmpl', variant: ServedVariant): ReplyHead {
  return {
    id: `${prefix}-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: variant.name,
    system_fingerprint: `fp_${variantDigest(variant).slice(0, 10)}`
  }
}

/** Serialises a value as a server-sent event. */
export function serverSentEvent(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** Last event of a complete stream. */
export const STREAM_END = 'data: [DONE]\n\n'
