/** How a tokenizer's decoder turns tokens into bytes. */
export interface TokenDecoder {
  /** Bytes of one token, from the vocabulary or added. */
  bytes(token: string): Uint8Array
  /** Leading spaces to drop, which the encoder added. */
  readonly leadingSpaces: number
}

interface DecoderConfig {
  readonly type?: unknown
  readonly decoders?: unknown
  readonly pattern?: { readonly String?: unknown }
  readonly content?: unknown
  readonly start?: unknown
  readonly replacement?: unknown
}

const utf8 = new TextEncoder()

/**
 * The decoder of a `tokenizer.json`; null for kinds that do not work per token, which no decoder-only model uses.
 * Supports byte-level BPE, and SentencePiece with byte fallback.
 */
export function tokenDecoder(configuration: unknown): TokenDecoder | null {
  const parts = flatten(configuration)
  const has = (type: string) => parts.some(part => part.type === type)
  if (has('ByteLevel')) return { bytes: byteLevelBytes, leadingSpaces: 0 }
  const marker = parts.map(spaceMarker).find(value => value !== null)
  if (marker === undefined || marker === null) return null
  const strip = parts.find(part => part.type === 'Strip' && part.content === ' ')
  return {
    bytes: token => sentencePieceBytes(token, marker),
    leadingSpaces: has('Metaspace') ? 1 : Number(strip?.start ?? 0)
  }
}

function flatten(configuration: unknown): DecoderConfig[] {
  if (typeof configuration !== 'object' || configuration === null) return []
  const config = configuration as DecoderConfig
  return config.type === 'Sequence' && Array.isArray(config.decoders) ? config.decoders.flatMap(flatten) : [config]
}

/** The character that represents a space, if this decoder step replaces one. */
function spaceMarker(part: DecoderConfig): string | null {
  if (part.type === 'Metaspace') return typeof part.replacement === 'string' ? part.replacement : '▁'
  const replaces = part.type === 'Replace' && part.content === ' ' && typeof part.pattern?.String === 'string'
  return replaces ? (part.pattern?.String as string) : null
}

function sentencePieceBytes(token: string, marker: string): Uint8Array {
  const [, hex] = /^<0x([0-9A-Fa-f]{2})>$/.exec(token) ?? []
  return hex === undefined ? utf8.encode(token.replaceAll(marker, ' ')) : Uint8Array.of(Number.parseInt(hex, 16))
}

/**
 * GPT-2's byte-level alphabet: printable bytes map to themselves, others to characters from U+0100 on, in order.
 */
const byteOfCharacter = new Map<string, number>()
{
  let next = 0x100
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
    byteOfCharacter.set(String.fromCharCode(printable ? byte : next++), byte)
  }
}

function byteLevelBytes(token: string): Uint8Array {
  const bytes: number[] = []
  for (const character of token) {
    const byte = byteOfCharacter.get(character)
    // A character outside the alphabet can only come from an added plain-text token.
    if (byte === undefined) return utf8.encode(token)
    bytes.push(byte)
  }
  return Uint8Array.from(bytes)
}
