import { meshErrors } from './errors.ts'

/** Parses a key of 32 bytes from 64 hex digits or standard base64. Throws `MSH_KEY_INVALID`, without the text. */
export function parseMeshKey(text: string, name: string): Uint8Array {
  const trimmed = text.trim()
  const bytes = /^[0-9a-f]{64}$/i.test(trimmed) ? new Uint8Array(Buffer.from(trimmed, 'hex')) : decodeBase64(trimmed)
  if (bytes?.length === 32) return bytes
  throw meshErrors.create('MSH_KEY_INVALID', `${name} is not a key of 32 bytes`, {
    hint: 'write 64 hex digits, or standard base64 with 44 characters'
  })
}

/** Decodes standard base64 with padding; null if the text is anything else. */
export function decodeBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : null
}
