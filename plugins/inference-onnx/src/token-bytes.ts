/** Decoder of a tokenizer, which turns tokens into bytes. */
export interface TokenDecoder {
  /** Returns the bytes of a token of the vocabulary, or of an added token. */
  bytes(token: string): Uint8Array
  /** Number of leading spaces that the encoder added, to drop. */
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
 * Returns the decoder of a `tokenizer.json`: byte-level BPE, or SentencePiece with byte fallback. Null for kinds that
 * do not decode token by token; no decoder-only model uses them.
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

/** Returns the character that represents a space, if this decoder step replaces it. */
function spaceMarker(part: DecoderConfig): string | null {
  if (part.type === 'Metaspace') return typeof part.replacement === 'string' ? part.replacement : '▁'
  const replaces = part.type === 'Replace' && part.content === ' ' && typeof part.pattern?.String === 'string'
  return replaces ? (part.pattern?.String as string) : null
}

function sentencePieceBytes(token: string, marker: string): Uint8Array {
  const [, hex] = /^<0x([0-9A-Fa-f]{2})>$/.exec(token) ?? []
  return hex === undefined ? utf8.encode(token.replaceAll(marker, ' ')) : Uint8Array.of(Number.parseInt(hex, 16))
}

/** GPT-2's byte-level alphabet: printable bytes map to themselves, other bytes to characters from U+0100 on. */
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
    // A character outside the alphabet can only belong to an added token, which is plain text.
    if (byte === undefined) return utf8.encode(token)
    bytes.push(byte)
  }
  return Uint8Array.from(bytes)
}
