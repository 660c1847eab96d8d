const OFFSET = 0xcbf29ce484222325n
const PRIME = 0x100000001b3n
const MASK = 0xffffffffffffffffn
/** Separates the parts of a hashed text: the unit separator of ASCII. */
const SEPARATOR = '\u001f'

/** Returns the 64-bit FNV-1a hash of the UTF-8 bytes of texts that are joined with 0x1F. */
export function fnv1a(...parts: readonly string[]): bigint {
  let hash = OFFSET
  for (const byte of Buffer.from(parts.join(SEPARATOR), 'utf8')) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK
  return hash
}

/** Returns the hash modulo `size`. */
export function bucket(size: number, ...parts: readonly string[]): number {
  return Number(fnv1a(...parts) % BigInt(size))
}
